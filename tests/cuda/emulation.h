// What the CUDA sources need to run on a CPU: one fiber for each thread of a block, which goes on at a barrier only
// when all others have come there.  With a seed, fibers run in an order that changes from barrier to barrier, so that a
// result that depends on the order of threads, a race, does not come out the same.
#include <math.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __longlong_as_double(bits) HUGE_VAL

struct Index {
    unsigned x;
};

Index threadIdx, blockIdx, blockDim;
__align__(16) double memory[1 << 15];  // shared memory
double exchanged_values[1024];
ucontext_t scheduler, fibers[1024];
bool finished[1024];
long barriers[1024];
std::function<void()> kernel;

double rsqrt(double x) { return 1.0 / sqrt(x); }

void wait_for_others() { swapcontext(&fibers[threadIdx.x], &scheduler); }

void __syncthreads() {
    ++barriers[threadIdx.x];
    wait_for_others();
}

double __shfl_xor_sync(unsigned, double value, int lane) {
    exchanged_values[threadIdx.x] = value;
    wait_for_others();
    const double other = exchanged_values[threadIdx.x ^ lane];
    wait_for_others();
    return other;
}

void run_thread() {
    kernel();
    finished[threadIdx.x] = true;
    wait_for_others();
}

// Runs all blocks, one after the other; returns 1 if threads of a block have met different numbers of barriers.
int launch(int blocks, int threads, int seed, std::function<void()> function) {
    const size_t stack = 1 << 17;
    std::vector<char> stacks(threads * stack);
    std::vector<int> order(threads);
    std::mt19937 random(seed);
    kernel = function;
    blockDim.x = threads;
    std::iota(order.begin(), order.end(), 0);
    for (blockIdx.x = 0; blockIdx.x < (unsigned)blocks; ++blockIdx.x) {
        std::fill(std::begin(memory), std::end(memory), NAN);
        for (int i = 0; i < threads; ++i) {
            getcontext(&fibers[i]);
            fibers[i].uc_stack.ss_sp = stacks.data() + i * stack;
            fibers[i].uc_stack.ss_size = stack;
            finished[i] = false;
            barriers[i] = 0;
            makecontext(&fibers[i], run_thread, 0);
        }
        for (int running = threads; running > 0;) {
            if (seed) std::shuffle(order.begin(), order.end(), random);
            running = 0;
            for (int i : order) {
                if (finished[i]) continue;
                threadIdx.x = i;
                swapcontext(&scheduler, &fibers[i]);
                running += !finished[i];
            }
        }
        for (int i = 1; i < threads; ++i) {
            if (barriers[i] != barriers[0]) return 1;
        }
    }
    return 0;
}
