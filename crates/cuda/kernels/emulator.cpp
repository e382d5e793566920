// One module of kernels for the emulator: that of a padded rank, that of its tensor cores, or what all ranks share; and the way in. Each is a library of its
// own, whose other names are hidden, so that no two share any state.
#define EMULATED
#include "device.h"

#ifdef TENSOR
#define MODULE PASTE(tensor, PAD)
namespace MODULE {
#include "tensor.cu"
}
#elif defined(PAD)
#define MODULE PASTE(pad, PAD)
namespace MODULE {
#include "pad.cu"
}
#else
#define MODULE common
namespace common {
#include "common.cu"
#include "emulator_tests.h"
}
#endif

extern "C" __attribute__((visibility("default"))) int emulator_launch(const char* name, const unsigned* grid,
                                                                      unsigned threads, unsigned shared,
                                                                      void** parameters) {
    if (threads > emulator::MOST_THREADS || shared > emulator::MOST_SHARED || grid[1] > emulator::MOST_ROWS_OF_BLOCKS) {
        return emulator::TOO_LARGE;
    }
    for (const auto& entry : emulator::entries()) {
        if (std::strcmp(entry.name, name) != 0) continue;
        if (!emulator::state) {
            emulator::owner.reset(new emulator::State());
            emulator::state = emulator::owner.get();
        }
        emulator::Call call{entry.with, entry.kernel, parameters};
        emulator::state->body = emulator::call_body;
        emulator::state->argument = &call;
        emulator::state->grid_dim = {grid[0], grid[1], 1};
        emulator::state->block_dim = {threads, 1, 1};
        emulator::state->shared = shared;
        for (unsigned y = 0; y < grid[1]; ++y) {
            for (unsigned x = 0; x < grid[0]; ++x) {
                emulator::state->block_idx = {x, y, 0};
                if (!emulator::run_block()) return emulator::WRITTEN_BEHIND;
            }
        }
        return emulator::DONE;
    }
    return emulator::NO_KERNEL;
}
