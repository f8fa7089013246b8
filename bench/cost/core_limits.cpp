// What one core can do at most: its clock, multiply-adds and loads a cycle with registers of `kBytes` bytes,
// and bytes a cycle from the second-level cache. Prints "name value" lines. Source: timing of loops that do
// nothing else.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#ifndef WIDTH
#define WIDTH 32
#endif

namespace {

constexpr int kBytes = WIDTH;
typedef float Vector __attribute__((vector_size(WIDTH)));

// seconds of the fastest of a few runs
template <class F>
double fastest(F f) {
  double best = 1e9;
  for (int run = 0; run < 7; ++run) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// additions that wait for each other: one a cycle
double clock_rate() {
  constexpr long kTimes = 20'000'000;
  return kTimes * 8 / fastest([] {
           long x = 1;
           for (long i = 0; i < kTimes; ++i)
             asm volatile(
                 "add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n"
                 "add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0"
                 : "+r"(x));
         });
}

// sixteen chains of multiply-adds
double multiply_adds() {
  constexpr long kTimes = 5'000'000;
  return kTimes * 16 / fastest([] {
           Vector x[16] = {}, a = {}, b = {};
           for (long i = 0; i < kTimes; ++i) {
#pragma GCC unroll 16
             for (int k = 0; k < 16; ++k)
               asm volatile("vfmadd231ps %1, %2, %0" : "+v"(x[k]) : "v"(a), "v"(b));
           }
         });
}

// loads of the same `bytes` of memory, again and again
double loads(size_t bytes) {
  std::vector<Vector> memory(bytes / kBytes);
  const long times = static_cast<long>(200'000'000 / memory.size());
  return static_cast<double>(times) * static_cast<double>(memory.size()) / fastest([&] {
           const Vector* p = memory.data();
           const size_t count = memory.size();
           for (long i = 0; i < times; ++i)
             for (size_t k = 0; k < count; k += 8) {
#pragma GCC unroll 8
               for (int j = 0; j < 8; ++j) {
                 Vector v;
                 asm volatile("vmovaps %1, %0" : "=v"(v) : "m"(p[k + j]));
               }
             }
         });
}

}  // namespace

int main() {
  const double clock = clock_rate();
  std::printf("clock %.4g\n", clock);
  std::printf("fma %.3f\n", multiply_adds() / clock);
  std::printf("l1_loads %.3f\n", loads(16 << 10) / clock);
  std::printf("l2_bytes %.2f\n", kBytes * loads(512 << 10) / clock);
}
