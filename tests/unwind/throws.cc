// A load for tests of unwinding: exceptions through several frames, for the given number of milliseconds.
#include <chrono>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static volatile unsigned long sink;

struct Guard {
    std::vector<int> values = std::vector<int>(64, 1);
    ~Guard() { sink += values.size(); }
};

__attribute__((noinline)) static void descend(int depth)
{
    Guard guard;
    if (depth == 0)
        throw std::runtime_error("bottom");
    descend(depth - 1);
    sink++;
}

template <typename Function> __attribute__((noinline)) static void call(const Function &function)
{
    try {
        function();
    } catch (const std::exception &error) {
        sink += error.what()[0];
    }
}

__attribute__((noinline)) static void fill()
{
    std::map<std::string, int> names;
    for (int i = 0; i < 200; i++)
        names[std::to_string(i * 7919 % 1000)] += i;
    sink += names.size();
}

int main(int argc, char **argv)
{
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(argc > 1 ? std::atoi(argv[1]) : 1000);
    for (int round = 0; std::chrono::steady_clock::now() < end; round++) {
        call([round] { descend(round % 12); });
        call(fill);
    }
    return 0;
}
