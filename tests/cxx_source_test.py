#!/usr/bin/env python3
"""scripts/cxx_source.py and scripts/fidelity.py find what they are for.

usage: cxx_source_test.py SOURCE_DIR [unittest arguments]
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve() / "scripts"))

import cxx_source  # noqa: E402
import fidelity  # noqa: E402


class CxxSource(unittest.TestCase):
    def test_condition_without_local(self):
        bad = "{ if (co_await a(cpu)) x = 1; x += 10; }"
        self.assertTrue(cxx_source.awaits_in_condition(bad))
        self.assertFalse(cxx_source.declares_local(bad))
        for good in ("{ int* p = &x; if (co_await a()) *p = 1; }",
                     "{ for (CpuId c : all) if (co_await a(c)) f(); }",
                     "{ Word& flags = w; while (co_await read(flags)) co_await relax(); }",
                     "{ hw::SpinLoop loop; while (co_await a()) f(loop); }"):
            self.assertTrue(cxx_source.declares_local(good), good)
        for no_local in ("{ return f(x); }", "{ co_await g(cpu); f(a, b); }", "{ a = b; }",
                         "{ else if (x) f(); }", "{ while (co_await b(x)) { co_await g(x); } }",
                         "{\n  co_await exec(cpu, Path::x);\n  co_return true;\n}"):
            self.assertFalse(cxx_source.declares_local(no_local), no_local)
        self.assertFalse(cxx_source.awaits_in_condition("{ if (a) co_await b; }"))

    def test_lambdas(self):
        def coroutines(code):
            return [b for b, _ in cxx_source.lambdas(code) if "co_await" in b]
        self.assertTrue(coroutines("auto f = [&]() -> Co<> { co_await g(); };"))
        self.assertTrue(coroutines("call([] { co_await g(); });"))
        self.assertFalse(coroutines("int a[3]; x[i] = 1; f([](int n) { return n; }); co_await g();"))

    def test_functions(self):
        text = """namespace a {
// Linux: kernel/x.c, f().
// Not modelled: y,
// z.
Co<int> f(Cpu& cpu, int n = g(1)) {
  if (n) {
    co_return 1;
  }
}
namespace {
struct S {
  S() : a_{1}, b_(2) {}
  int get() const { return a_; }
  int a_ = 3;
};
constexpr int kTable[] = {1, 2};
}  // namespace
}  // namespace a
"""
        found = cxx_source.Source("x.cc", text).functions
        self.assertEqual([(f.name, f.line, f.lines, f.anonymous) for f in found],
                         [("f", 5, 5, False), ("S", 12, 1, True), ("get", 13, 1, True)])
        self.assertEqual(fidelity.linux_source(found[0]), "kernel/x.c, f()")
        self.assertEqual(fidelity.left_out(found[0]), "y, z")
        self.assertTrue(found[0].returns_co and found[0].is_coroutine)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
