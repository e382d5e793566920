// Sums of rows from those of their tuples, as tuples.cu has them, on tensor cores; see tensor.cu for what these multiply.
//
// A block has a task, and one tuple of it at a time: the full C, times its row's share, and T are in shared memory, and the triangle of
// the next C and the next T are on their way there. A warp has 16 rows of T C, and of T C T'. Products are over pairs of columns that
// lie beside each other: of lane 4 g + t, the first of its two numbers of a row is column 2 t of eight and the second is column
// 2 t + 1, so that what a warp has of T C is what it needs of it next.

// Rows in shared memory are so far apart that lanes read other banks.
static const int WIDE = PAD + 8;
static const int TILES = PAD / 8;
// Columns of the sums, for the widest of rows.
static const int COLUMNS = 64 / 8;

// Numbers as sums of two that tensor cores multiply.
template <int COUNT>
struct Halves {
    Short upper[COUNT], lower[COUNT];

    DEVICE void set(int place, float number) {
        upper[place] = shorten(number);
        lower[place] = shorten(number - lengthen(upper[place]));
    }
};

DEVICE void multiply_halves(float (&sum)[4], const Halves<4>& a, const Halves<2>& b) {
    multiply_add(sum, a.lower, b.upper);
    multiply_add(sum, a.upper, b.lower);
    multiply_add(sum, a.upper, b.upper);
}

// Two numbers of each of eight rows, of which the lane's is given.
DEVICE Halves<2> columns_of(const float* row, int eight, u32 turn) {
    float2 two = *reinterpret_cast<const float2*>(row + 8 * eight + 2 * turn);
    Halves<2> made;
    made.set(0, two.x), made.set(1, two.y);
    return made;
}

// Begins to copy a tuple's sums, of which those with signs are not needed, and its table.
DEVICE void begin_tuple(const float* own, float* triangle, const float* table, u32 rank, float* t) {
    const float4* numbers = reinterpret_cast<const float4*>(own);
    for (u32 i = threadIdx.x; i < (TRIANGLE + PAD) / 4; i += blockDim.x) begin_copy(reinterpret_cast<float4*>(triangle) + i, numbers + i);
    const float4* cells = reinterpret_cast<const float4*>(table);
    for (u32 i = threadIdx.x; i < rank * (PAD / 4); i += blockDim.x) {
        u32 row = i / (PAD / 4), quad = i % (PAD / 4);
        begin_copy(reinterpret_cast<float4*>(t + row * WIDE) + quad, cells + i);
    }
}

// The full matrix of a triangle, times a number: a warp has 4 x 8 numbers at a time, which lie in as many banks.
DEVICE void fill(const float* triangle, float times, u32 warp, u32 warps, u32 lane, float* full) {
    for (u32 first = 4 * warp; first < PAD; first += 4 * warps) {
        u32 k = first + lane / 8, start = k * (k + 1) / 2;
        for (u32 l = lane % 8; l < first + 4 + lane % 8; l += 8) {
            if (l > k) continue;
            float number = times * triangle[start + l];
            full[k * WIDE + l] = number;
            full[l * WIDE + k] = number;
        }
    }
}

KERNEL BOUNDS(128, 4) sum_tuples(const Task* __restrict__ tasks, u32 rank, u32 pad, const u32* __restrict__ tuples,
                                 const u32* __restrict__ others, const float* __restrict__ sums,
                                 const float* __restrict__ tuple_squares, const float* __restrict__ tables,
                                 const float* __restrict__ roots, float* __restrict__ out, float* __restrict__ squares) {
    const u32 inner = PAD, len = TRIANGLE + 2 * PAD;
    Task task = tasks[blockIdx.x];
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, turn = lane % 4;
    u32 blocks = (pad + 15) / 16, rows = 16 * blocks, mine = 16 * warp + group;
    float* c = SHARED(float);
    float* pulls = c + inner * WIDE;
    float* triangle = pulls + inner;
    float* both = triangle + TRIANGLE + inner;
    float all[COLUMNS][4], products[2] = {0.0f, 0.0f}, square = 0.0f;
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) all[j][0] = all[j][1] = all[j][2] = all[j][3] = 0.0f;
    for (u32 i = rank * WIDE + threadIdx.x; i < rows * WIDE; i += blockDim.x) both[i] = both[rows * WIDE + i] = 0.0f;
    // The next tuple, and the row of its other mode; what is known of the one before.
    u32 id = 0, other = 0;
    float root = 0.0f, its_square = 0.0f;
    if (task.start < task.end) {
        id = tuples[task.start], other = others[task.start];
        begin_tuple(sums + (u64)id * len, triangle, tables + (u64)other * rank * inner, rank, both);
        root = roots[other], its_square = tuple_squares[id];
    }
    if (task.start + 1 < task.end) id = tuples[task.start + 1], other = others[task.start + 1];
    for (u32 place = task.start; place < task.end; ++place) {
        float* t = both + (place - task.start) % 2 * rows * WIDE;
        float share = root * root;
        square += share * its_square;
        await_copies();
        __syncthreads();
        fill(triangle, share, warp, blockDim.x / 32, lane, c);
        for (u32 i = threadIdx.x; i < inner; i += blockDim.x) pulls[i] = share * triangle[TRIANGLE + i];
        __syncthreads();
        if (place + 1 < task.end) {
            float* next = both + (place + 1 - task.start) % 2 * rows * WIDE;
            begin_tuple(sums + (u64)id * len, triangle, tables + (u64)other * rank * inner, rank, next);
            root = roots[other], its_square = tuple_squares[id];
        }
        if (place + 2 < task.end) id = tuples[place + 2], other = others[place + 2];
        if (warp >= blocks) continue;
        float made[TILES][4];
#pragma unroll
        for (int n = 0; n < TILES; ++n) made[n][0] = made[n][1] = made[n][2] = made[n][3] = 0.0f;
#pragma unroll 1
        for (int m = 0; m < TILES; ++m) {
            float2 first = *reinterpret_cast<const float2*>(t + mine * WIDE + 8 * m + 2 * turn);
            float2 second = *reinterpret_cast<const float2*>(t + (mine + 8) * WIDE + 8 * m + 2 * turn);
            float2 pull = *reinterpret_cast<const float2*>(pulls + 8 * m + 2 * turn);
            products[0] += first.x * pull.x + first.y * pull.y;
            products[1] += second.x * pull.x + second.y * pull.y;
            Halves<4> left;
            left.set(0, first.x), left.set(1, second.x), left.set(2, first.y), left.set(3, second.y);
#pragma unroll
            for (int n = 0; n < TILES; ++n) {
                // C is symmetric: its rows are its columns.
                multiply_halves(made[n], left, columns_of(c + (8 * n + group) * WIDE, m, turn));
            }
        }
#pragma unroll
        for (int m = 0; m < TILES; ++m) {
            Halves<4> left;
            left.set(0, made[m][0]), left.set(1, made[m][2]), left.set(2, made[m][1]), left.set(3, made[m][3]);
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                // No column is behind the last row.
                if (j > 2 * (int)warp + 1) continue;
                multiply_halves(all[j], left, columns_of(t + (8 * j + group) * WIDE, m, turn));
            }
        }
    }
    for (int mask = 1; mask < 4; mask *= 2) {
        products[0] += __shfl_xor_sync(WHOLE_WARP, products[0], mask);
        products[1] += __shfl_xor_sync(WHOLE_WARP, products[1], mask);
    }
    if (threadIdx.x == 0) squares[task.slot] = square;
    if (warp >= blocks) return;
    float* target = out + (u64)task.slot * (pad * (pad + 3) / 2);
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            u32 k = mine + 8 * (i / 2), l = 8 * j + 2 * turn + i % 2;
            if (l <= k && k < pad) target[k * (k + 1) / 2 + l] = all[j][i];
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        u32 k = mine + 8 * i;
        if (turn == 0 && k < pad) target[pad * (pad + 1) / 2 + k] = products[i];
    }
}
REGISTER(sum_tuples)
