// Sums of rows from those of their tuples, as tuples.cu has them, on tensor cores; see tensor.cu for what these multiply.
//
// A block has a task, and one tuple of it at a time: the full C, and T times the root of its row's share, are in shared memory.
// A warp has 16 rows of T C, and of T C T'. Products are over pairs of columns that lie beside each other: of lane 4 g + t, the
// first of its two numbers of a row is column 2 t of eight and the second is column 2 t + 1, so that what a warp has of T C is
// what it needs of it next.

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

KERNEL BOUNDS(128, 3) sum_tuples(const Task* __restrict__ tasks, u32 rank, u32 pad, const u32* __restrict__ tuples,
                                 const u32* __restrict__ others, const float* __restrict__ sums,
                                 const float* __restrict__ tuple_squares, const float* __restrict__ tables,
                                 const float* __restrict__ roots, float* __restrict__ out, float* __restrict__ squares) {
    const u32 inner = PAD, len = TRIANGLE + 2 * PAD;
    Task task = tasks[blockIdx.x];
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, turn = lane % 4;
    u32 blocks = (pad + 15) / 16, rows = 16 * blocks, mine = 16 * warp + group;
    float* c = SHARED(float);
    float* t = c + inner * WIDE;
    float* pulls = t + rows * WIDE;
    float all[COLUMNS][4], products[2] = {0.0f, 0.0f}, square = 0.0f;
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) all[j][0] = all[j][1] = all[j][2] = all[j][3] = 0.0f;
    for (u32 place = task.start; place < task.end; ++place) {
        u32 id = tuples[place], other = others[place];
        float root = roots[other];
        const float* own = sums + (u64)id * len;
        const float4* table = reinterpret_cast<const float4*>(tables + (u64)other * rank * inner);
        square += root * root * tuple_squares[id];
        __syncthreads();
        u32 k = 0, l = threadIdx.x;
#pragma unroll 4
        for (u32 i = threadIdx.x; i < TRIANGLE; i += blockDim.x) {
            float number = own[i];
            while (l > k) l -= ++k;
            c[k * WIDE + l] = number;
            c[l * WIDE + k] = number;
            l += blockDim.x;
        }
#pragma unroll 4
        for (u32 i = threadIdx.x; i < rows * (inner / 4); i += blockDim.x) {
            u32 row = i / (inner / 4), quad = i % (inner / 4);
            float4 some = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (row < rank) some = table[i];
            some.x *= root, some.y *= root, some.z *= root, some.w *= root;
            reinterpret_cast<float4*>(t + row * WIDE)[quad] = some;
        }
        for (u32 i = threadIdx.x; i < inner; i += blockDim.x) pulls[i] = own[TRIANGLE + i] * root;
        __syncthreads();
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
