// Sums over the entries of a row: of products of designs, of designs times values and of squared values, each entry's times its
// precision. A design is found by its id in a table, where it is multiplied with the root of its precision, and the root stands
// behind it; what is read of an entry is that id and its value.
//
// The sums of a target are the lower triangle of the products, row by row, and then the products with values; if asked for, those
// with random signs in place of values follow.

// Numbers from one design to the next; float4s of them, and how many of these are read.
static const int STRIDE = PAD <= 12 ? PAD + 4 : PAD + 8;
static const int QUADS = STRIDE / 4;
static const int READ = PAD / 4 + 1;
static const int TRIANGLE = PAD * (PAD + 1) / 2;

#if PAD <= 12

// A few lanes share a task and each has all sums in registers, of every so manieth entry.
static const int LANES = 8;

template <bool SIGNED, int SUMS>
DEVICE void add_design(const float (&design)[PAD], float value, float sign, float (&sums)[SUMS]) {
#pragma unroll
    for (int k = 0; k < PAD; ++k) {
#pragma unroll
        for (int l = 0; l <= k; ++l) sums[k * (k + 1) / 2 + l] += design[k] * design[l];
        sums[TRIANGLE + k] += design[k] * value;
        if (SIGNED) sums[TRIANGLE + PAD + k] += design[k] * sign;
    }
}

template <bool SIGNED>
DEVICE void sum_up(const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
                   const float* __restrict__ designs, u64 seed, u32 epoch, float* __restrict__ out, float* __restrict__ squares) {
    const int NUMBERS = TRIANGLE + (SIGNED ? 2 : 1) * PAD;
    // A multiple of the lanes, so that sums can be halved among them.
    const int SUMS = (NUMBERS + LANES - 1) / LANES * LANES;
    // Threads are too many for 32 bits.
    u32 place = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    Task task = {0, 0, NONE, 0};
    if (place < count) task = tasks[place];
    float sums[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; ++i) sums[i] = 0.0f;
    float square = 0.0f;
    // Designs of two entries are on the way while one is added, and where those of the next two are is known.
    const Entry none = {0, 0.0f};
    u32 entry = task.start + lane;
    Entry now[2], next[2];
    float4 ahead[2][READ];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        u32 place = entry + i * LANES;
        now[i] = place < task.end ? read_entry(entries + place) : none;
        next[i] = place + 2 * LANES < task.end ? read_entry(entries + place + 2 * LANES) : none;
#pragma unroll
        for (int k = 0; k < READ; ++k) {
            if (place < task.end) ahead[i][k] = reinterpret_cast<const float4*>(designs)[(u64)now[i].id * QUADS + k];
        }
    }
    while (entry < task.end) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (entry < task.end) {
                float design[PAD];
#pragma unroll
                for (int k = 0; k < PAD / 4; ++k) {
                    design[4 * k] = ahead[i][k].x, design[4 * k + 1] = ahead[i][k].y;
                    design[4 * k + 2] = ahead[i][k].z, design[4 * k + 3] = ahead[i][k].w;
                }
                float scaled = ahead[i][PAD / 4].x * now[i].value;
                float sign = SIGNED ? sign_of(seed, epoch, entry) : 0.0f;
                now[i] = next[i];
                if (entry + 2 * LANES < task.end) {
#pragma unroll
                    for (int k = 0; k < READ; ++k) {
                        ahead[i][k] = reinterpret_cast<const float4*>(designs)[(u64)now[i].id * QUADS + k];
                    }
                    if (entry + 4 * LANES < task.end) next[i] = read_entry(entries + entry + 4 * LANES);
                }
                add_design<SIGNED>(design, scaled, sign, sums);
                square += scaled * scaled;
            }
            entry += LANES;
        }
    }
    halve<SUMS / 2>(sums, lane, 1);
    halve<SUMS / 4>(sums, lane, 2);
    halve<SUMS / 8>(sums, lane, 4);
    for (int mask = 1; mask < LANES; mask *= 2) square += __shfl_xor_sync(WHOLE_WARP, square, mask);
    if (task.slot != NONE) {
        u32 first = (lane & 1) * (SUMS / 2) + (lane >> 1 & 1) * (SUMS / 4) + (lane >> 2) * (SUMS / 8);
#pragma unroll
        for (int i = 0; i < SUMS / 8; ++i) {
            if (first + i < NUMBERS) out[(u64)task.slot * NUMBERS + first + i] = sums[i];
        }
        if (lane == 0) squares[task.slot] = square;
    }
}

#else

// A team of threads shares a task. Each has a tile of 8 x 8 sums in registers, and groups of threads that have all tiles between
// them take turns in the entries, whose designs are read into shared memory first.
static const int TILE = 8;
static const int SIDE = PAD / TILE;
static const int TILES = SIDE * (SIDE + 1) / 2;
static const int TEAM = PAD <= 32 ? 32 : 128;
static const int GROUPS = TEAM / TILES;
static const int STAGE = 32;
// Float4s of a stage for each thread, and how many of them at a time.
static const int PARTS = (STAGE * READ + TEAM - 1) / TEAM;
static const int SOME = 5;
// Floats that a team needs: designs and values, or the sums of all threads.
static const int STAGED = STAGE * (PAD + 4) + 3 * STAGE;
static const int SPREAD = GROUPS * TILES * TILE * TILE + 2 * GROUPS * PAD + TEAM;
static const int ROOM = STAGED > SPREAD ? STAGED : SPREAD;

DEVICE void team_sync() {
    if (TEAM == 32) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

template <bool SIGNED>
DEVICE void sum_up(const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
                   const float* __restrict__ designs, u64 seed, u32 epoch, float* __restrict__ out, float* __restrict__ squares) {
    const int NUMBERS = TRIANGLE + (SIGNED ? 2 : 1) * PAD;
    u32 team = threadIdx.x / TEAM, own = threadIdx.x % TEAM;
    u32 place = blockIdx.x * (blockDim.x / TEAM) + team;
    float* room = SHARED(float) + team * ROOM;
    float* scaled = room + STAGE * (PAD + 4);
    u32* places = reinterpret_cast<u32*>(scaled + STAGE);
    float* signs = scaled + 2 * STAGE;
    Task task = {0, 0, NONE, 0};
    if (place < count) task = tasks[place];
    int group = own / TILES, tile = own % TILES, row = 0;
    while ((row + 1) * (row + 2) / 2 <= tile) ++row;
    int column = tile - row * (row + 1) / 2;
    bool busy = group < GROUPS, diagonal = row == column;
    float sums[TILE][TILE], products[TILE], signed_sums[TILE];
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
        products[i] = signed_sums[i] = 0.0f;
#pragma unroll
        for (int j = 0; j < TILE; ++j) sums[i][j] = 0.0f;
    }
    float square = 0.0f;
    for (u32 first = task.start; first < task.end; first += STAGE) {
        u32 some = task.end - first < STAGE ? task.end - first : STAGE;
        team_sync();
        if (own < some) {
            Entry entry = read_entry(entries + first + own);
            places[own] = entry.id;
            scaled[own] = entry.value;
            if (SIGNED) signs[own] = sign_of(seed, epoch, first + own);
        }
        team_sync();
        // Some float4s of each thread are on their way at a time.
#pragma unroll
        for (int part = 0; part < PARTS; part += SOME) {
            float4 there[SOME];
#pragma unroll
            for (int i = 0; i < SOME; ++i) {
                u32 number = own + (part + i) * TEAM;
                if (part + i < PARTS && number < some * READ) {
                    u64 place = (u64)places[number / READ] * QUADS + number % READ;
                    there[i] = reinterpret_cast<const float4*>(designs)[place];
                }
            }
#pragma unroll
            for (int i = 0; i < SOME; ++i) {
                u32 number = own + (part + i) * TEAM, entry = number / READ, quad = number % READ;
                if (part + i < PARTS && number < some * READ) {
                    // The even quads of a design and then the odd ones, so that tiles beside each other are in other banks.
                    if (quad < PAD / 4) {
                        reinterpret_cast<float4*>(room)[entry * (PAD / 4 + 1) + quad % 2 * SIDE + quad / 2] = there[i];
                    } else {
                        scaled[entry] *= there[i].x;
                        square += scaled[entry] * scaled[entry];
                    }
                }
            }
        }
        team_sync();
        for (u32 entry = group; busy && entry < some; entry += GROUPS) {
            const float* design = room + entry * (PAD + 4);
            float left[TILE], right[TILE];
#pragma unroll
            for (int i = 0; i < TILE; i += 4) {
                float4 a = *reinterpret_cast<const float4*>(design + i * SIDE + row * 4);
                float4 b = *reinterpret_cast<const float4*>(design + i * SIDE + column * 4);
                left[i] = a.x, left[i + 1] = a.y, left[i + 2] = a.z, left[i + 3] = a.w;
                right[i] = b.x, right[i + 1] = b.y, right[i + 2] = b.z, right[i + 3] = b.w;
            }
#pragma unroll
            for (int i = 0; i < TILE; ++i) {
#pragma unroll
                for (int j = 0; j < TILE; ++j) sums[i][j] += left[i] * right[j];
            }
            if (diagonal) {
                float value = scaled[entry];
#pragma unroll
                for (int i = 0; i < TILE; ++i) products[i] += left[i] * value;
                if (SIGNED) {
                    float sign = signs[entry];
#pragma unroll
                    for (int i = 0; i < TILE; ++i) signed_sums[i] += left[i] * sign;
                }
            }
        }
    }
    team_sync();
    float* rest = room + GROUPS * TILES * TILE * TILE;
    float* all = rest + 2 * GROUPS * PAD;
    if (busy) {
#pragma unroll
        for (int i = 0; i < TILE; ++i) {
#pragma unroll
            for (int j = 0; j < TILE; ++j) {
                room[((i * TILE + j) * GROUPS + group) * TILES + tile] = sums[i][j];
            }
            if (diagonal) rest[group * PAD + row * TILE + i] = products[i];
            if (diagonal && SIGNED) rest[(GROUPS + group) * PAD + row * TILE + i] = signed_sums[i];
        }
    }
    all[own] = square;
    team_sync();
    if (task.slot == NONE) return;
    float* target = out + (u64)task.slot * NUMBERS;
    for (int i = own; i < TILES * TILE * TILE; i += TEAM) {
        int tile = i / (TILE * TILE), inside = i % (TILE * TILE), row = 0;
        while ((row + 1) * (row + 2) / 2 <= tile) ++row;
        int k = row * TILE + inside / TILE, l = (tile - row * (row + 1) / 2) * TILE + inside % TILE;
        if (l > k) continue;
        float sum = 0.0f;
        for (int group = 0; group < GROUPS; ++group) sum += room[(inside * GROUPS + group) * TILES + tile];
        target[k * (k + 1) / 2 + l] = sum;
    }
    for (int k = own; k < (SIGNED ? 2 : 1) * PAD; k += TEAM) {
        float sum = 0.0f;
        for (int group = 0; group < GROUPS; ++group) sum += rest[(k / PAD * GROUPS + group) * PAD + k % PAD];
        target[TRIANGLE + k] = sum;
    }
    if (own == 0) {
        float sum = 0.0f;
        for (int i = 0; i < TEAM; ++i) sum += all[i];
        squares[task.slot] = sum;
    }
}

#endif

static const int SUM_BLOCKS = 3;

KERNEL BOUNDS(128, SUM_BLOCKS) sums(const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
                                    const float* __restrict__ designs, float* __restrict__ out,
                                    float* __restrict__ squares) {
    sum_up<false>(tasks, count, entries, designs, 0, 0, out, squares);
}
REGISTER(sums)

KERNEL BOUNDS(128, SUM_BLOCKS) sums_signed(const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
                                           const float* __restrict__ designs, u64 seed, u32 epoch,
                                           float* __restrict__ out, float* __restrict__ squares) {
    sum_up<true>(tasks, count, entries, designs, seed, epoch, out, squares);
}
REGISTER(sums_signed)
