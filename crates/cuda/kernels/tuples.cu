// Sums over the entries of tuples (rows of two of three modes) in place of entries: with the sums C of products of the third
// mode's rows, and c of these times values, a row of the other modes has the sums T C T' and T c, where T is the core
// folded along the other row of the tuple.
//
// The sums of a tuple are those of `sums_signed`.

static const u32 QUAD = 4;
// Rows in shared memory are an odd number of float4s apart, so that those of neighbouring threads are in other banks.
static const u32 WIDE = PAD / QUAD % 2 == 1 ? PAD : PAD + QUAD;

// Adds the products of four rows with four others, which are so many rows apart.
DEVICE void multiply(const float* left, u32 left_step, const float* right, u32 right_step, float (&sums)[QUAD][QUAD]) {
#pragma unroll 1
    for (u32 m = 0; m < PAD; m += QUAD) {
        float4 a[QUAD], b[QUAD];
#pragma unroll
        for (u32 r = 0; r < QUAD; ++r) {
            a[r] = *reinterpret_cast<const float4*>(left + r * left_step * WIDE + m);
            b[r] = *reinterpret_cast<const float4*>(right + r * right_step * WIDE + m);
        }
#pragma unroll
        for (u32 r = 0; r < QUAD; ++r) {
#pragma unroll
            for (u32 s = 0; s < QUAD; ++s) {
                sums[r][s] += a[r].x * b[s].x;
                sums[r][s] += a[r].y * b[s].y;
                sums[r][s] += a[r].z * b[s].z;
                sums[r][s] += a[r].w * b[s].w;
            }
        }
    }
}

// Sums of rows from those of their tuples. A block has a task, and some tuples of it at a time: the full C, T times the root of
// its row's share, and their product are in shared memory; each thread has 4 x 4 sums, of rows and columns that are a quarter of
// all apart, and groups of threads that have all sums between them take turns in the tuples.
KERNEL sum_tuples(const Task* __restrict__ tasks, u32 batch, u32 rank, u32 pad, const u32* __restrict__ tuples,
                  const u32* __restrict__ others, const float* __restrict__ sums,
                  const float* __restrict__ tuple_squares, const float* __restrict__ tables,
                  const float* __restrict__ roots, float* __restrict__ out, float* __restrict__ squares) {
    Task task = tasks[blockIdx.x];
    const u32 inner = PAD, wide = WIDE, triangle = TRIANGLE, len = triangle + 2 * inner;
    float* c = SHARED(float);
    float* t = c + batch * inner * wide;
    float* e = t + batch * pad * wide;
    float* pulls = e + batch * pad * wide;
    u32 side = pad / QUAD, tiles = side * (side + 1) / 2, groups = blockDim.x / tiles;
    u32 group = threadIdx.x / tiles, tile = threadIdx.x % tiles, row = 0;
    while ((row + 1) * (row + 2) / 2 <= tile) ++row;
    u32 column = tile - row * (row + 1) / 2;
    float sum[QUAD][QUAD] = {{0.0f}};
    float product = 0.0f, square = 0.0f;
    // Who has a product of which tuple of a batch.
    u32 slot = threadIdx.x / pad, concept = threadIdx.x % pad;
    // Those who read a tuple: a warp each, or all threads one tuple after the other.
    u32 readers = PAD < 32 ? 32 : blockDim.x, reader = threadIdx.x % readers;
    u32* ids = reinterpret_cast<u32*>(pulls + batch * inner);
    u32* rests = ids + batch;
    float* scales = reinterpret_cast<float*>(rests + batch);
    for (u32 first = task.start; first < task.end; first += batch) {
        u32 some = task.end - first < batch ? task.end - first : batch;
        __syncthreads();
        if (threadIdx.x < some) {
            u32 id = tuples[first + threadIdx.x], other = others[first + threadIdx.x];
            float root = roots[other];
            ids[threadIdx.x] = id, rests[threadIdx.x] = other, scales[threadIdx.x] = root;
            square += root * root * tuple_squares[id];
        }
        __syncthreads();
        for (u32 b = threadIdx.x / readers; b < some; b += blockDim.x / readers) {
            const float* own = sums + (u64)ids[b] * len;
            const float* table = tables + (u64)rests[b] * rank * inner;
            float root = scales[b];
            float* full = c + b * inner * wide;
            u32 k = 0, l = reader;
#pragma unroll 4
            for (u32 i = reader; i < triangle; i += readers) {
                float number = own[i];
                while (l > k) l -= ++k;
                full[k * wide + l] = number;
                full[l * wide + k] = number;
                l += readers;
            }
#pragma unroll 4
            for (u32 i = reader; i < pad * inner; i += readers) {
                t[(b * pad + i / inner) * wide + i % inner] = i < rank * inner ? table[i] * root : 0.0f;
            }
            for (u32 i = reader; i < inner; i += readers) pulls[b * inner + i] = own[triangle + i] * root;
        }
        __syncthreads();
        const u32 quarter = inner / QUAD, parts = side * quarter;
        for (u32 i = threadIdx.x; i < some * parts; i += blockDim.x) {
            u32 b = i / parts, k = i % parts / quarter, l = i % quarter;
            // C is symmetric: its rows are its columns.
            float made[QUAD][QUAD] = {{0.0f}};
            multiply(t + (b * pad + k) * wide, side, c + (b * inner + l) * wide, quarter, made);
#pragma unroll
            for (u32 r = 0; r < QUAD; ++r) {
#pragma unroll
                for (u32 s = 0; s < QUAD; ++s) e[(b * pad + k + r * side) * wide + l + s * quarter] = made[r][s];
            }
        }
        __syncthreads();
        for (u32 b = group; group < groups && b < some; b += groups) {
            multiply(e + (b * pad + row) * wide, side, t + (b * pad + column) * wide, side, sum);
        }
        for (u32 b = slot; b < some; b += blockDim.x / pad) {
            const float* own = t + (b * pad + concept) * wide;
            for (u32 m = 0; m < inner && slot < blockDim.x / pad; ++m) product += own[m] * pulls[b * inner + m];
        }
    }
    __syncthreads();
    // Groups one behind the other.
    float* room = SHARED(float);
    if (group < groups) {
#pragma unroll
        for (u32 r = 0; r < QUAD; ++r) {
#pragma unroll
            for (u32 s = 0; s < QUAD; ++s) room[(group * QUAD * QUAD + r * QUAD + s) * tiles + tile] = sum[r][s];
        }
    }
    __syncthreads();
    float* target = out + (u64)task.slot * (pad * (pad + 3) / 2);
    if (group == 0) {
        for (u32 r = 0; r < QUAD; ++r) {
            for (u32 s = 0; s < QUAD; ++s) {
                float all = 0.0f;
                for (u32 other = 0; other < groups; ++other) {
                    all += room[(other * QUAD * QUAD + r * QUAD + s) * tiles + tile];
                }
                // A pair of concepts is in one tile, in one order or the other; on the diagonal, in both.
                u32 k = row + r * side, l = column + s * side;
                if (k >= l) {
                    target[k * (k + 1) / 2 + l] = all;
                } else if (row != column) {
                    target[l * (l + 1) / 2 + k] = all;
                }
            }
        }
    }
    __syncthreads();
    room[threadIdx.x] = product;
    room[blockDim.x + threadIdx.x] = square;
    __syncthreads();
    if (slot == 0) {
        for (u32 other = 1; other < blockDim.x / pad; ++other) product += room[other * pad + concept];
        target[pad * (pad + 1) / 2 + concept] = product;
    }
    if (threadIdx.x == 0) {
        for (u32 b = 1; b < batch; ++b) square += room[blockDim.x + b];
        squares[task.slot] = square;
    }
}
REGISTER(sum_tuples)
