// The machine against what NVIDIA's "PTX ISA" says of single instructions, and the mistakes that it must
// catch.
#include "machine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

using namespace ptx_interpreter;

namespace {

// a kernel of one parameter, the address of `out`, in %rd1; %r1 is the number of the thread in its block
std::string kernel(const std::string& body, const std::string& before = "") {
  return ".version 9.0\n.target sm_75\n.address_size 64\n" + before +
         ".visible .entry k(.param .u64 out)\n{\n"
         ".reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<20>;\n.reg .f64 %d<20>;\n"
         "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n" +
         body + "\nret;\n}\n";
}
constexpr size_t kWords = 64;

// what stands in `out` afterwards
std::vector<uint32_t> run(Machine& machine, const std::string& text, unsigned threads, unsigned blocks) {
  const auto module = read_ptx(text);
  std::vector<uint32_t> out(kWords, 0);
  machine.memory.add(out.data(), out.size() * sizeof out[0]);
  Launch launch;
  launch.module = module.get();
  launch.function = module->functions.at("k").get();
  launch.grid.x = blocks, launch.block.x = threads;
  launch.parameters.resize(8);
  const uint32_t* address = out.data();
  std::memcpy(launch.parameters.data(), &address, 8);
  machine.run(launch);
  return out;
}
std::vector<uint32_t> run(const std::string& text, unsigned threads = 1, uint64_t seed = 1,
                          unsigned blocks = 1) {
  Machine machine;
  machine.seed = seed;
  return run(machine, text, threads, blocks);
}
uint32_t one(const std::string& body) { return run(kernel(body))[0]; }
// of an instruction that writes %r9
uint32_t word(const std::string& instruction) { return one(instruction + "\nst.global.u32 [%rd1], %r9;"); }
float number(const std::string& instruction) {
  return std::bit_cast<float>(one(instruction + "\nst.global.f32 [%rd1], %f9;"));
}
std::string said(const std::string& text, unsigned threads = 1) {
  try {
    run(text, threads);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}
testing::AssertionResult says(const std::string& text, const std::string& what, unsigned threads = 1) {
  const std::string found = said(text, threads);
  if (found.find(what) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "it said: " << found;
}

TEST(Instructions, OfIntegers) {
  EXPECT_EQ(word("add.s32 %r9, 0x7fffffff, 1;"), 0x80000000u);
  EXPECT_EQ(word("sub.s32 %r9, 3, 5;"), 0xfffffffeu);
  EXPECT_EQ(word("mul.hi.u32 %r9, 0xffffffff, 0xffffffff;"), 0xfffffffeu);
  EXPECT_EQ(word("mul.hi.s32 %r9, -1, -1;"), 0u);
  EXPECT_EQ(word("mad.lo.s32 %r9, -3, 5, 7;"), static_cast<uint32_t>(-8));
  EXPECT_EQ(word("div.s32 %r9, -7, 2;"), static_cast<uint32_t>(-3));
  EXPECT_EQ(word("rem.s32 %r9, -7, 2;"), static_cast<uint32_t>(-1));
  EXPECT_EQ(word("div.u32 %r9, -7, 2;"), 0x7ffffffcu);
  EXPECT_EQ(word("min.s32 %r9, -7, 2;"), static_cast<uint32_t>(-7));
  EXPECT_EQ(word("min.u32 %r9, -7, 2;"), 2u);
  // amounts beyond the width shift everything out
  EXPECT_EQ(word("shl.b32 %r9, 1, 32;"), 0u);
  EXPECT_EQ(word("shr.u32 %r9, 0x80000000, 40;"), 0u);
  EXPECT_EQ(word("shr.s32 %r9, 0x80000000, 40;"), 0xffffffffu);
  EXPECT_EQ(word("shr.s32 %r9, -8, 1;"), static_cast<uint32_t>(-4));
  EXPECT_EQ(word("shf.l.wrap.b32 %r9, 0x80000000, 0x1, 33;"), 3u);
  EXPECT_EQ(word("shf.r.wrap.b32 %r9, 0x2, 0x1, 1;"), 0x80000001u);
  EXPECT_EQ(word("bfe.u32 %r9, 0xabcd, 4, 8;"), 0xbcu);
  EXPECT_EQ(word("bfe.s32 %r9, 0xabcd, 4, 8;"), 0xffffffbcu);
  EXPECT_EQ(word("bfi.b32 %r9, 0xf, 0xabcd, 4, 8;"), 0xa0fdu);
  EXPECT_EQ(word("bmsk.clamp.b32 %r9, 4, 8;"), 0xff0u);
  EXPECT_EQ(word("prmt.b32 %r9, 0x33221100, 0x77665544, 0x7531;"), 0x77553311u);
  EXPECT_EQ(word("prmt.b32 %r9, 0x000080, 0, 0x0008;"), 0x808080ffu);
  EXPECT_EQ(word("brev.b32 %r9, 1;"), 0x80000000u);
  EXPECT_EQ(word("clz.b32 %r9, 0;"), 32u);
  EXPECT_EQ(word("popc.b32 %r9, 0xf0f;"), 8u);
  EXPECT_EQ(word("bfind.u32 %r9, 0x100;"), 8u);
  EXPECT_EQ(word("bfind.u32 %r9, 0;"), ~0u);
  EXPECT_EQ(word("lop3.b32 %r9, 0xf0, 0xcc, 0xaa, 0x96;"), 0xf0u ^ 0xccu ^ 0xaau);
  EXPECT_EQ(word("mul.wide.s32 %rd2, -2, 3; shr.s64 %rd3, %rd2, 32; cvt.u32.u64 %r9, %rd3;"), ~0u);
  EXPECT_EQ(word("mov.b64 %rd2, {%r1, 7}; mov.b64 {_, %r9}, %rd2;"), 7u);
  EXPECT_TRUE(says(kernel("mov.u32 %r2, 0; div.u32 %r9, %r1, %r2;"), "divided by zero"));
}

TEST(Instructions, OfNumbersRoundOnce) {
  // (1 + 2^-12)^2 - 1: the product is rounded, and then the sum; a fused operation keeps the last bit
  const std::string square = "mov.f32 %f1, 0f3F800800; mul.rn.f32 %f2, %f1, %f1;";
  EXPECT_EQ(number(square + "add.rn.f32 %f9, %f2, 0fBF800000;"), 0x1p-11f);
  EXPECT_EQ(number("mov.f32 %f1, 0f3F800800; fma.rn.f32 %f9, %f1, %f1, 0fBF800000;"), 0x1p-11f + 0x1p-24f);
  EXPECT_EQ(number("div.rn.f32 %f9, 0f3F800000, 0f40400000;"), 1.0f / 3);
  EXPECT_EQ(number("sqrt.rn.f32 %f9, 0f40000000;"), std::sqrt(2.0f));
  EXPECT_EQ(number("rcp.rn.f32 %f9, 0f40400000;"), 1.0f / 3);
  // small numbers stay
  EXPECT_EQ(number("mul.rn.f32 %f9, 0f00800000, 0f3F000000;"), 0x1p-127f);
  EXPECT_EQ(number("min.f32 %f9, 0f7FC00000, 0f40000000;"), 2.0f);
  EXPECT_TRUE(std::signbit(number("min.f32 %f9, 0f00000000, 0f80000000;")));
  EXPECT_FALSE(std::signbit(number("max.f32 %f9, 0f80000000, 0f00000000;")));
  EXPECT_EQ(number("copysign.f32 %f9, 0fBF800000, 0f40000000;"), -2.0f);
  EXPECT_EQ(one("sub.rn.f32 %f9, 0f7F800000, 0f7F800000; st.global.f32 [%rd1], %f9;"), 0x7fffffffu);
}

// the source's x < 0 ? x : 0 is +0 for -0, and so is PTX's min where +0 is added (kernels/base/real.h, negative_part)
TEST(Instructions, MinimaAndZeros) {
  const std::string minimum = "mov.f32 %f1, 0f80000000;\nmin.f32 %f2, %f1, 0f00000000;\n";
  EXPECT_EQ(word(minimum + "mov.b32 %r9, %f2;"), 0x80000000u);
  EXPECT_EQ(word(minimum + "add.rn.f32 %f3, %f2, 0f00000000;\nmov.b32 %r9, %f3;"), 0u);
  EXPECT_EQ(word("mov.f32 %f1, 0f80000000;\nmax.f32 %f2, %f1, 0f00000000;\nmov.b32 %r9, %f2;"), 0u);
}

TEST(Instructions, ThatAreNotExactAreRefused) {
  for (const char* name : {"add.f32", "mul.f32", "sub.f32", "fma.f32"})
    EXPECT_TRUE(says(kernel(std::string(name) + " %f9, %f1, %f2, %f3;"), "does not say .rn")) << name;
  for (const char* name : {"div.approx.f32", "div.full.f32", "sqrt.approx.f32", "mul.rn.ftz.f32",
                           "ex2.approx.f32", "sin.approx.f32"})
    EXPECT_TRUE(says(kernel(std::string(name) + " %f9, %f1, %f2;"), "is approximate")) << name;
  EXPECT_TRUE(says(kernel("tanh.f32 %f9, %f1;"), "is not simulated"));
}

TEST(Instructions, ThatConvert) {
  EXPECT_EQ(word("cvt.rzi.s32.f32 %r9, 0fC0200000;"), static_cast<uint32_t>(-2));
  EXPECT_EQ(word("cvt.rmi.s32.f32 %r9, 0fC0200000;"), static_cast<uint32_t>(-3));
  EXPECT_EQ(word("cvt.rni.s32.f32 %r9, 0f40200000;"), 2u);
  EXPECT_EQ(word("cvt.rzi.s32.f32 %r9, 0f7FC00000;"), 0u);
  EXPECT_EQ(word("cvt.rzi.s32.f32 %r9, 0f7F800000;"), 0x7fffffffu);
  EXPECT_EQ(word("cvt.rzi.u32.f32 %r9, 0fBF800000;"), 0u);
  EXPECT_EQ(word("cvt.rzi.u32.f32 %r9, 0f4F800000;"), 0xffffffffu);
  EXPECT_EQ(word("cvt.s32.s8 %r9, 0xff;"), 0xffffffffu);
  EXPECT_EQ(word("cvt.u32.u8 %r9, 0x1ff;"), 0xffu);
  EXPECT_EQ(number("cvt.rn.f32.s32 %f9, -3;"), -3.0f);
  EXPECT_EQ(number("cvt.rmi.f32.f32 %f9, 0fC0200000;"), -3.0f);
  EXPECT_EQ(number("cvt.rn.f32.f64 %f9, 0d3FD5555555555555;"), static_cast<float>(1.0 / 3));
}

TEST(Instructions, ThatCompare) {
  const auto set = [](const std::string& how) { return word(how + " selp.u32 %r9, 1, 0, %p1;"); };
  EXPECT_EQ(set("setp.lt.s32 %p1, -1, 1;"), 1u);
  EXPECT_EQ(set("setp.lt.u32 %p1, -1, 1;"), 0u);
  EXPECT_EQ(set("setp.lt.f32 %p1, 0f7FC00000, 0f3F800000;"), 0u);
  EXPECT_EQ(set("setp.ltu.f32 %p1, 0f7FC00000, 0f3F800000;"), 1u);
  EXPECT_EQ(set("setp.ne.f32 %p1, 0f7FC00000, 0f7FC00000;"), 0u);
  EXPECT_EQ(set("setp.neu.f32 %p1, 0f7FC00000, 0f7FC00000;"), 1u);
  EXPECT_EQ(set("setp.eq.s32 %p2, 1, 2; setp.eq.and.s32 %p1, 1, 1, !%p2;"), 1u);
  EXPECT_EQ(set("setp.eq.s32 %p2|%p1, 1, 2;"), 1u);
}

TEST(Functions, HandOverAndGiveBack) {
  const std::string function =
      ".func (.param .b32 back) twice(.param .b32 a, .param .align 8 .b8 pair[8])\n{\n.reg .b32 %r<9>;\n"
      "ld.param.u32 %r1, [a];\nld.param.u32 %r2, [pair+4];\nadd.s32 %r3, %r1, %r1;\nadd.s32 %r3, %r3, %r2;\n"
      "st.param.b32 [back], %r3;\nret;\n}\n";
  const std::string body =
      "mov.u32 %r8, 1000;\n{\n.param .b32 param0;\n.param .align 8 .b8 param1[8];\n.param .b32 retval0;\n"
      "st.param.b32 [param0], 21;\nst.param.v2.b32 [param1], {5, 9};\n"
      "call.uni (retval0), twice, (param0, param1);\nld.param.b32 %r9, [retval0];\n}\n"
      "add.s32 %r9, %r9, %r8;\nst.global.u32 [%rd1], %r9;";
  EXPECT_EQ(run(kernel(body, function))[0], 1051u);
  EXPECT_TRUE(says(kernel("call.uni nobody, ();"), "nobody, which the module does not have"));
}

TEST(Functions, Jump) {
  EXPECT_EQ(one("mov.u32 %r9, 0;\nagain:\nadd.s32 %r9, %r9, 1;\nsetp.lt.s32 %p1, %r9, 5;\n@%p1 bra again;\n"
                "@!%p1 st.global.u32 [%rd1], %r9;"),
            5u);
  EXPECT_EQ(
      one("mov.u32 %r2, 1;\nt: .branchtargets a, b;\nbrx.idx %r2, t;\na: trap;\nb: st.global.u32 [%rd1], 3;"),
      3u);
  EXPECT_TRUE(says(kernel("trap;"), "stops itself"));
}

TEST(Memory, IsWatched) {
  EXPECT_TRUE(says(kernel("st.global.u32 [%rd1+256], %r1;"), "where nothing was allocated"));
  EXPECT_TRUE(says(kernel("st.global.u32 [%rd1+2], %r1;"), "not aligned"));
  EXPECT_TRUE(says(kernel("st.global.v4.u32 [%rd1+8], {%r1, %r1, %r1, %r1};"), "not aligned"));
  const std::string shared = ".shared .align 4 .b8 s[64];\n";
  EXPECT_TRUE(says(kernel("mov.u32 %r2, 64;\nst.shared.u32 [%r2], %r1;", shared), "of shared memory"));
  // nobody wrote it
  EXPECT_EQ(run(kernel("mov.u32 %r2, s;\nld.shared.u32 %r9, [%r2];\nst.global.u32 [%rd1], %r9;", shared))[0],
            ~0u);
  // one address for all kinds of memory
  EXPECT_EQ(run(kernel("mov.u64 %rd2, s;\ncvta.shared.u64 %rd3, %rd2;\nst.u32 [%rd3+4], 7;\n"
                       "ld.shared.u32 %r9, [s+4];\nst.global.u32 [%rd1], %r9;",
                       shared))[0],
            7u);
}

TEST(Memory, CountsAtomically) {
  const auto out = run(kernel("atom.global.add.u32 %r2, [%rd1], 1;\nred.global.max.u32 [%rd1+4], %r1;\n"
                              "atom.global.cas.b32 %r3, [%rd1+8], 0, 5;"),
                       64, 3, 2);
  EXPECT_EQ(out[0], 128u);
  EXPECT_EQ(out[1], 63u);
  EXPECT_EQ(out[2], 5u);
}

// every thread tells its neighbour through shared memory
std::string neighbours(const std::string& barrier) {
  return kernel("shl.b32 %r2, %r1, 2;\nst.shared.u32 [%r2], %r1;\n" + barrier +
                    "\nxor.b32 %r3, %r2, 4;\nld.shared.u32 %r9, [%r3];\ncvt.u64.u32 %rd2, %r2;\n"
                    "add.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r9;",
                ".shared .align 4 .b8 s[256];\n");
}
TEST(Together, ABarrierIsMissedWhereItIsLeftOut) {
  bool missed = false;
  for (uint64_t seed = 1; seed < 6; ++seed) {
    const auto with = run(neighbours("bar.warp.sync -1;"), 32, seed);
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(with[i], i ^ 1);
    const auto of_block = run(neighbours("bar.sync 0;"), 64, seed);
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(of_block[i], i ^ 1);
    missed = missed || run(neighbours(""), 32, seed) != with;
  }
  EXPECT_TRUE(missed);
}

// a thread that has left its kernel is not waited for, and says nothing; where threads of a warp go their own ways, each comes
// to a barrier of the block on its own
TEST(Together, ThreadsThatHaveLeft) {
  const std::string body =
      "setp.lt.u32 %p1, %r1, 40;\n@%p1 bra $stays;\nret;\n$stays:\nsetp.eq.u32 %p2, %r1, 3;\n"
      "@%p2 bra $late;\nbarrier.sync 0;\nbra.uni $tell;\n$late:\nmov.u32 %r5, 1;\nbarrier.sync 0;\n$tell:\n"
      "barrier.red.or.pred %p3, 0, %p2;\nselp.u32 %r9, 7, 0, %p3;\nmul.wide.u32 %rd2, %r1, 4;\n"
      "add.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r9;";
  for (uint64_t seed = 1; seed < 6; ++seed) {
    const auto out = run(kernel(body), 64, seed);
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i < 40 ? 7u : 0u) << i;
  }
}

TEST(Together, ThreadsWhoDoNotCome) {
  // half of the warp waits at a barrier, the others want a shuffle with all
  EXPECT_TRUE(says(kernel("setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.warp.sync -1;\n"
                          "@!%p1 shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;"),
                   "they do not come", 32));
  EXPECT_TRUE(says(kernel("shfl.sync.idx.b32 %r9, %r1, 5, 31, 1;"), "takes no part", 1));
  EXPECT_TRUE(says(kernel("bar.warp.sync 2;"), "is not among those", 1));
  EXPECT_TRUE(says(kernel("setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.sync 0;\n@!%p1 bar.sync 1;"),
                   "other than that of all", 32));
}

TEST(Together, ShufflesVotesAndMatches) {
  const auto each = [](const std::string& body, unsigned threads = 32) {
    return run(
        kernel(body + "\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r9;"),
        threads);
  };
  const auto up = each("shfl.sync.up.b32 %r9, %r1, 1, 0, -1;");
  const auto down = each("shfl.sync.down.b32 %r9, %r1, 4, 31, -1;");
  // tiles of eight: the segment is in bits 8 and up
  const auto tile = each("shfl.sync.idx.b32 %r9, %r1, 3, 0x181f, -1;");
  const auto inside = each("shfl.sync.up.b32 %r8|%p1, %r1, 2, 0x1800, -1;\nselp.u32 %r9, 1, 0, %p1;");
  const auto ballot = each("setp.gt.u32 %p1, %r1, 29;\nvote.sync.ballot.b32 %r9, %p1, -1;");
  const auto any =
      each("setp.eq.u32 %p1, %r1, 40;\nvote.sync.any.pred %p2, !%p1, -1;\nselp.u32 %r9, 1, 0, %p2;");
  const auto match = each("and.b32 %r2, %r1, 3;\nmatch.any.sync.b32 %r9, %r2, -1;");
  const auto alike =
      each("setp.eq.u32 %p1, %r1, 40;\nbar.red.or.pred %p2, 0, %p1;\nselp.u32 %r9, 1, 0, %p2;", 64);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i == 0 ? 0 : i - 1);
    EXPECT_EQ(down[i], i < 28 ? i + 4 : i);
    EXPECT_EQ(tile[i], i / 8 * 8 + 3);
    EXPECT_EQ(inside[i], i % 8 >= 2);
    EXPECT_EQ(ballot[i], 0xc0000000u);
    EXPECT_EQ(any[i], 1u);
    EXPECT_EQ(match[i], 0x11111111u << (i & 3));
    EXPECT_EQ(alike[i], 1u);
  }
}

// two blocks, each of which waits for a word of the other: both are there at once, whichever comes first
TEST(Together, BlocksTakeTurns) {
  const std::string text = kernel(
      "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd2, %rd1, %rd2;\n"
      "mov.u32 %r3, 1;\nst.volatile.global.u32 [%rd2], %r3;\n"
      "xor.b32 %r4, %r2, 1;\nmul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd3, %rd1, %rd3;\n"
      "$again:\nld.volatile.global.u32 %r5, [%rd3];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra $again;");
  for (const uint64_t seed : {1, 2, 3}) {
    const std::vector<uint32_t> out = run(text, 1, seed, 2);
    EXPECT_EQ(out[0] + out[1], 2u);
  }
}

// without a barrier, a warp reads what the other one has written in one order of turns, and not in another
TEST(Together, WarpsOfABlockDriftApart) {
  const std::string text = kernel(
      "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra $second;\nmov.u32 %r2, 5;\nst.global.u32 [%rd1], %r2;\nret;\n"
      "$second:\nsetp.ne.u32 %p2, %r1, 32;\n@%p2 ret;\nld.global.u32 %r3, [%rd1];\n"
      "st.global.u32 [%rd1+4], %r3;");
  std::set<uint32_t> seen;
  for (uint64_t seed = 1; seed < 20; ++seed) seen.insert(run(text, 64, seed)[1]);
  EXPECT_EQ(seen, (std::set<uint32_t>{0, 5}));
}

TEST(Profile, CountsWhatWarpsIssue) {
  // a thread goes round as often as its number in the warp says
  const std::string body =
      "and.b32 %r3, %r1, 31;\nmov.u32 %r2, 0;\nagain:\nadd.s32 %r2, %r2, 1;\nsetp.le.s32 %p1, %r2, %r3;\n"
      "@%p1 bra again;\nbar.warp.sync -1;\nld.global.u32 %r9, [%rd1];\nld.global.u32 %r9, [%rd1+4];\n"
      "setp.lt.u32 %p2, %r3, 8;\n@%p2 st.global.u32 [%rd1+8], %r9;\nst.shared.u32 [s], %r9;\n"
      "shfl.sync.bfly.b32 %r9, %r9, 1, 31, -1;";
  Machine machine;
  machine.profiled = true;
  run(machine, kernel(body, ".shared .align 4 .b8 s[64];\n"), 64, 3);
  const Machine::Issued& k = machine.profile.at("k");
  const uint64_t warps = 6, once = 12, round = 3;
  EXPECT_EQ(k.by_warps, warps * (once + 32 * round));
  EXPECT_EQ(k.by_threads, warps * (32 * once + 33 * 16 * round));
  EXPECT_EQ(k.barriers, warps);
  EXPECT_EQ(k.shuffles, warps);
  // all in one sector of 32 bytes, or in two where `out` lies so; shared memory does not count
  EXPECT_GE(k.traffic.fetched, warps * 32);
  EXPECT_LE(k.traffic.fetched, warps * 64);
  EXPECT_EQ(k.traffic.written, warps * 8 * 4);
}

TEST(Text, ThatIsNoPtxSaysWhere) {
  EXPECT_TRUE(says(".version 9.0\n.target sm_75\nnonsense", "line 3"));
  EXPECT_TRUE(says(kernel("add.s32 %r9, %r1, %nobody;"), "line"));
  EXPECT_TRUE(says(kernel("bra nowhere;"), "no label nowhere"));
  EXPECT_TRUE(says(".entry k() {", "ends in the middle"));
}

}  // namespace
