// A load for tests of unwinding: goroutines, maps and sorting, for the given number of milliseconds.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"
)

//go:noinline
func descend(depth int) int {
	if depth == 0 {
		return work()
	}
	return descend(depth-1) + 1
}

//go:noinline
func work() int {
	names := map[string]int{}
	var keys []string
	for i := 0; i < 300; i++ {
		key := fmt.Sprintf("%d", i*7919%1000)
		names[key] += i
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return len(names)
}

func main() {
	ms := 1000
	if len(os.Args) > 1 {
		ms, _ = strconv.Atoi(os.Args[1])
	}
	end := time.Now().Add(time.Duration(ms) * time.Millisecond)
	var group sync.WaitGroup
	for n := 0; n < 4; n++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for round := 0; time.Now().Before(end); round++ {
				descend((round + n) % 20)
			}
		}(n)
	}
	group.Wait()
}
