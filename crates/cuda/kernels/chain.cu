// A chain folds the core along the rows of one mode after the other. Each level has a node for every combination of rows that
// occurs in its modes and those before; a node's table is what is left of the core along its rows. On the way back, what
// nodes have is multiplied with their rows and added up in their parents.

// What a node's rows make of the `k`th combination of concepts.
DEVICE float weight_of(const Folding& folding, const u32* rows, u32 k) {
    float weight = 1.0f;
    for (u32 mode = folding.modes; mode-- > 0; k /= folding.ranks[mode]) {
        weight *= folding.factors[mode][(u64)rows[mode] * folding.pads[mode] + k % folding.ranks[mode]];
    }
    return weight;
}

// Nodes' tables, `len` numbers each, and the roots of their rows' shares. If `wide`, tables are as sums read them: multiplied with
// the root, with the root behind them and so many more float4s long. See leaves.cu for the last level.
KERNEL fold(u32 wide, const Folding* __restrict__ foldings, const u32* __restrict__ rows,
            const u32* __restrict__ parents, u32 nodes, u32 len, const float* __restrict__ above, const float* __restrict__ roots_above,
            float* __restrict__ tables, float* __restrict__ roots) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 quads = len / 4;
    u32 node = (u32)(thread / quads), quad = (u32)(thread % quads);
    if (node >= nodes) return;
    const Folding& folding = *foldings;
    u32 modes = folding.modes, concepts = folding.concepts, parent = parents[node];
    const u32* own = rows + (u64)node * modes;
    const float4* table = reinterpret_cast<const float4*>(above) + (u64)parent * concepts * quads + quad;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float* row = folding.factors[0] + (u64)own[0] * folding.pads[0];
    for (u32 k = 0; k < concepts; ++k) {
        float weight = modes == 1 ? row[k] : weight_of(folding, own, k);
        float4 some = table[(u64)k * quads];
        sum.x += weight * some.x, sum.y += weight * some.y, sum.z += weight * some.z, sum.w += weight * some.w;
    }
    float root = roots_above[parent];
    for (u32 mode = 0; mode < modes && (wide || quad == 0); ++mode) root *= folding.roots[mode][own[mode]];
    float4* out = reinterpret_cast<float4*>(tables) + (u64)node * (quads + wide) + quad;
    if (wide) {
        sum.x *= root, sum.y *= root, sum.z *= root, sum.w *= root;
        if (quad == 0) out[quads] = make_float4(root, 0.0f, 0.0f, 0.0f);
    }
    *out = sum;
    if (quad == 0) roots[node] = root;
}
REGISTER(fold)

// Rows as sums read them, see above.
KERNEL widen(u32 rows, u32 pad, u32 stride, const float* __restrict__ factor, const float* __restrict__ roots, float* __restrict__ wide) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 row = (u32)(i / stride), k = (u32)(i % stride);
    if (row >= rows) return;
    float root = roots[row];
    wide[i] = k < pad ? root * factor[(u64)row * pad + k] : k == pad ? root : 0.0f;
}
REGISTER(widen)

// So many children at a time, or fewer, have their weights in shared memory, which are no more than that; and what they have
// themselves if it is so many float4s at most.
static const u32 UNFOLDED = 32;
static const u32 MOST_WEIGHTS = 8192;
static const u32 STAGED_QUADS = 16;

// For each task, the sum over some children of a node of their weights times what they have. A thread has the sums of four
// concepts and a float4; if that leaves threads, several take turns in the children. Only the weights of a block's own concepts are in
// shared memory, so that it is enough for any number of concepts.
KERNEL unfold(const Folding* __restrict__ foldings, const u32* __restrict__ rows, const Task* __restrict__ tasks, u32 len,
              const float* __restrict__ below, float* __restrict__ out) {
    const Folding& folding = *foldings;
    Task task = tasks[blockIdx.x];
    u32 concepts = folding.concepts, modes = folding.modes, quads = len / 4, cells = (concepts + 3) / 4 * quads;
    u32 turns = blockDim.x / cells > 0 ? blockDim.x / cells : 1;
    u32 cell = blockIdx.y * blockDim.x + threadIdx.x, turn = 0, first_concept = 0, end = concepts;
    if (turns > 1) {
        turn = threadIdx.x / cells, cell = threadIdx.x % cells;
    } else {
        u32 first_cell = blockIdx.y * blockDim.x, rest = cells - first_cell;
        first_concept = first_cell / quads * 4;
        u32 behind = ((first_cell + (rest < blockDim.x ? rest : blockDim.x) - 1) / quads + 1) * 4;
        end = behind < concepts ? behind : concepts;
    }
    bool busy = cell < cells && turn < turns, staged = quads <= STAGED_QUADS;
    u32 k = cell / quads * 4, quad = cell % quads, own = end - first_concept;
    // A power of two of threads for each child, a whole number of float4s.
    u32 shift = 2;
    while (1u << shift < own) ++shift;
    u32 width = 1u << shift, children = UNFOLDED;
    while (children << shift > MOST_WEIGHTS) children /= 2;
    float4* values = SHARED(float4);
    float* weights = reinterpret_cast<float*>(values + (staged ? children * quads : 0));
    const float4* all = reinterpret_cast<const float4*>(below);
    float4 sums[4];
#pragma unroll
    for (u32 i = 0; i < 4; ++i) sums[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (u32 first = task.start; first < task.end; first += children) {
        u32 some = task.end - first < children ? task.end - first : children;
        __syncthreads();
        for (u32 i = threadIdx.x; staged && i < some * quads; i += blockDim.x) values[i] = all[(u64)first * quads + i];
        for (u32 i = threadIdx.x; i < some << shift; i += blockDim.x) {
            u32 concept = first_concept + (i & (width - 1));
            const u32* numbers = rows + (u64)(first + (i >> shift)) * modes;
            float weight = 0.0f;
            if (concept < end && modes == 1) weight = folding.factors[0][(u64)numbers[0] * folding.pads[0] + concept];
            if (concept < end && modes > 1) weight = weight_of(folding, numbers, concept);
            weights[i] = weight;
        }
        __syncthreads();
        const float4* there = (staged ? values : all + (u64)first * quads) + quad;
        const float4* mine = reinterpret_cast<const float4*>(weights + k - first_concept);
        for (u32 i = turn; busy && i < some; i += turns) {
            float4 value = there[i * quads], weight = mine[i << (shift - 2)];
#pragma unroll
            for (u32 j = 0; j < 4; ++j) {
                float by = j == 0 ? weight.x : j == 1 ? weight.y : j == 2 ? weight.z : weight.w;
                sums[j].x += by * value.x, sums[j].y += by * value.y, sums[j].z += by * value.z, sums[j].w += by * value.w;
            }
        }
    }
    if (turns > 1) {
        // Weights are no longer needed; there is room for a thread's sums.
        float4* room = SHARED(float4);
        __syncthreads();
#pragma unroll
        for (u32 j = 0; j < 4; ++j) room[j * blockDim.x + threadIdx.x] = sums[j];
        __syncthreads();
        // And each of the first has one of them to add up.
        for (u32 i = threadIdx.x; i < 4 * cells; i += blockDim.x) {
            u32 place = i % cells, concept = place / quads * 4 + i / cells;
            if (concept >= concepts) continue;
            const float4* parts = room + i / cells * blockDim.x + place;
            float4 sum = parts[0];
            for (u32 other = 1; other < turns; ++other) {
                float4 part = parts[other * cells];
                sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
            }
            reinterpret_cast<float4*>(out)[((u64)task.slot * concepts + concept) * quads + place % quads] = sum;
        }
        return;
    }
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
        if (busy && k + j < concepts) {
            reinterpret_cast<float4*>(out)[((u64)task.slot * concepts + k + j) * quads + quad] = sums[j];
        }
    }
}
REGISTER(unfold)

// The same where a level is of one mode and a warp has all sums of a task: without shared memory.
KERNEL unfold_few(const Folding* __restrict__ foldings, const u32* __restrict__ rows, const Task* __restrict__ tasks, u32 count,
                  u32 len, const float* __restrict__ below, float* __restrict__ out) {
    static const u32 MOST_GROUPS = 8, AT_A_TIME = 4;
    const Folding& folding = *foldings;
    u32 place = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    Task task = {0, 0, NONE, 0};
    if (place < count) task = tasks[place];
    u32 concepts = folding.concepts, quads = len / 4, cells = (concepts + 3) / 4 * quads;
    u32 groups = 32 / cells < MOST_GROUPS ? 32 / cells : MOST_GROUPS, group = lane / cells, cell = lane % cells;
    u32 k = cell / quads, quad = cell % quads, width = folding.pads[0] / 4;
    const float4* factor = reinterpret_cast<const float4*>(folding.factors[0]) + k;
    const float4* values = reinterpret_cast<const float4*>(below) + quad;
    float4 sums[4];
#pragma unroll
    for (u32 j = 0; j < 4; ++j) sums[j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    u32 end = group < groups ? task.end : 0;
    for (u32 first = task.start + group; first < end; first += AT_A_TIME * groups) {
        float4 weight[AT_A_TIME], value[AT_A_TIME];
#pragma unroll
        for (u32 i = 0; i < AT_A_TIME; ++i) {
            u32 child = first + i * groups;
            weight[i] = value[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (child < end) weight[i] = factor[(u64)rows[child] * width], value[i] = values[(u64)child * quads];
        }
#pragma unroll
        for (u32 i = 0; i < AT_A_TIME; ++i) {
#pragma unroll
            for (u32 j = 0; j < 4; ++j) {
                float by = j == 0 ? weight[i].x : j == 1 ? weight[i].y : j == 2 ? weight[i].z : weight[i].w;
                sums[j].x += by * value[i].x, sums[j].y += by * value[i].y;
                sums[j].z += by * value[i].z, sums[j].w += by * value[i].w;
            }
        }
    }
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
        float4 sum = sums[j];
        for (u32 other = 1; other < groups; ++other) {
            u32 there = (lane + other * cells) % 32;
            sum.x += __shfl_sync(WHOLE_WARP, sums[j].x, there), sum.y += __shfl_sync(WHOLE_WARP, sums[j].y, there);
            sum.z += __shfl_sync(WHOLE_WARP, sums[j].z, there), sum.w += __shfl_sync(WHOLE_WARP, sums[j].w, there);
        }
        u32 concept = 4 * k + j;
        if (task.slot != NONE && group == 0 && concept < concepts) {
            reinterpret_cast<float4*>(out)[((u64)task.slot * concepts + concept) * quads + quad] = sum;
        }
    }
}
REGISTER(unfold_few)

// So many slots at a time are on their way to a thread that adds them up.
static const u32 SLOTS = 8;

// The sum of a number of every so manieth slot of a split, from one of them on.
DEVICE double sum_slots(Split split, u32 first, u32 step, u32 len, u32 number, const float* slots) {
    double sum = 0.0;
    for (u32 slot = first; slot < split.count; slot += SLOTS * step) {
        float some[SLOTS];
#pragma unroll
        for (u32 j = 0; j < SLOTS; ++j) {
            u32 there = slot + j * step;
            some[j] = there < split.count ? slots[(u64)(split.first + there) * len + number] : 0.0f;
        }
#pragma unroll
        for (u32 j = 0; j < SLOTS; ++j) sum += some[j];
    }
    return sum;
}

// The slots of targets that a few tasks share: a thread for each number.
KERNEL join(const Split* __restrict__ splits, u32 count, u32 len, float* __restrict__ slots) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread / len >= count) return;
    Split split = splits[thread / len];
    u32 number = (u32)(thread % len);
    slots[(u64)split.target * len + number] = (float)sum_slots(split, 0, 1, len, number, slots);
}
REGISTER(join)

// The same where many do, behind so many splits of a few: the warps of a block take turns in the slots.
KERNEL join_many(const Split* __restrict__ splits, u32 behind, u32 len, float* __restrict__ slots) {
    Split split = splits[behind + blockIdx.x];
    u32 turns = blockDim.x / 32, turn = threadIdx.x / 32, lane = threadIdx.x % 32;
    double* room = SHARED(double);
    for (u32 first = blockIdx.y * 32; first < len; first += gridDim.y * 32) {
        u32 number = first + lane;
        double sum = number < len ? sum_slots(split, turn, turns, len, number, slots) : 0.0;
        __syncthreads();
        room[threadIdx.x] = sum;
        __syncthreads();
        for (u32 other = 1; turn == 0 && other < turns; ++other) sum += room[other * 32 + lane];
        if (turn == 0 && number < len) slots[(u64)split.target * len + number] = (float)sum;
    }
}
REGISTER(join_many)

// Numbers in another order; places that come from nowhere are zero.
KERNEL gather(const u32* __restrict__ places, u32 count, const float* __restrict__ from, float* __restrict__ to) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = places[i] == NONE ? 0.0f : from[places[i]];
}
REGISTER(gather)

// Rows without their padding.
KERNEL unpad(u32 rows, u32 rank, u32 pad, const float* __restrict__ padded, float* __restrict__ out) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i / rank < rows) out[i] = padded[i / rank * pad + i % rank];
}
REGISTER(unpad)

// Others in some places of a list.
KERNEL replace(u32 count, const u32* __restrict__ places, const u64* __restrict__ others, u64* __restrict__ list) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) list[places[i]] = others[i];
}
REGISTER(replace)

// Zeros where other passes have left something.
KERNEL clear(u64 count, double* __restrict__ values) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = 0.0;
}
REGISTER(clear)

// The sums of parts of a list, and of those.
KERNEL add_parts(const double* __restrict__ values, u64 count, double* __restrict__ parts) {
    double sum = 0.0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) sum += values[i];
    sum = block_sum(sum, SHARED(double));
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
REGISTER(add_parts)
