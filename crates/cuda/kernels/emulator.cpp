// One module of kernels for the emulator: that of a padded rank, or what all ranks share; and the way in. Each is a library of its
// own, whose other names are hidden, so that no two share any state.
#define EMULATED
#include "device.h"

#ifdef PAD
#define MODULE PASTE(pad, PAD)
namespace MODULE {
#include "pad.cu"
}
#else
#define MODULE common
namespace common {
#include "common.cu"
}
#endif

extern "C" __attribute__((visibility("default"))) int emulator_launch(const char* name, const unsigned* grid,
                                                                      unsigned threads, void** parameters) {
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
        for (unsigned y = 0; y < grid[1]; ++y) {
            for (unsigned x = 0; x < grid[0]; ++x) {
                emulator::state->block_idx = {x, y, 0};
                emulator::run_block();
            }
        }
        return 1;
    }
    return 0;
}
