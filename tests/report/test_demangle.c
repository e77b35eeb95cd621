/* Names of C++ and Rust, and names that stand for more than anybody would read. */
#include "report/demangle.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define LEVELS 30

static void init(void)
{
    struct weir_buf text = WEIR_BUF_INIT;
    bool is_built = weir_demangle(&text, "_Z1fv");
    weir_buf_fini(&text);
    if (!is_built)
        cr_skip("built without libiberty");
}

TestSuite(demangle, .init = init, .timeout = 20);

static void expect(const char *symbol, const char *name)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_buf_append(&text, "-", 1);
    bool is_mangled = weir_demangle(&text, symbol);
    cr_expect_eq(is_mangled, name != NULL, "%s", symbol);
    cr_expect_str_eq(weir_buf_str(&text) + 1, name ? name : "", "%s", symbol);
    weir_buf_fini(&text);
}

Test(demangle, what_is_not_mangled_stays)
{
    expect("main", NULL);
    expect("", NULL);
    expect("_start", NULL);
    expect("_Z", NULL);
    expect("read@plt", NULL);
}

Test(demangle, names_are_without_parameters_as_perf_has_them)
{
    expect("_Z14bitmap_set_bitP11bitmap_headi", "bitmap_set_bit");
    expect("_ZN4llvm16FoldingSetNodeID10AddPointerEPKv@plt", "llvm::FoldingSetNodeID::AddPointer@plt");
    expect("_RNvMsE_NtCsdadwybgsbvk_12rustc_middle2tyNtNtB5_7context6TyCtxt13trait_is_auto",
           "<rustc_middle::ty::context::TyCtxt>::trait_is_auto");
}

/* f<pair<pair<...>, pair<...>>>: each level says the one before twice. */
Test(demangle, short_name_of_a_huge_one_is_left)
{
    struct weir_buf symbol = WEIR_BUF_INIT;
    weir_buf_printf(&symbol, "_Z1fISt4pairIiiES_IS0_S0_E");
    for (unsigned level = 1; level < LEVELS; level++) {
        char digit = (char)(level < 10 ? '0' + level : 'A' + level - 10);
        weir_buf_printf(&symbol, "S_IS%c_S%c_E", digit, digit);
    }
    weir_buf_printf(&symbol, "EvT_");
    expect(weir_buf_str(&symbol), NULL);
    weir_buf_fini(&symbol);
}
