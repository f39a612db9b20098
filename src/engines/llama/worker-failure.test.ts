import { describe, expect, test } from 'vitest';
import {
  failedForGood,
  fallBackNote,
  fewerLayers,
  fewerLayersNote,
  gpuFailure,
  gpuMemoryFailure,
  loadReason,
} from './worker-failure.ts';

/** Output with a GPU driver that is older than the toolkit of the package. */
const oldDriver = [
  'llama_context: graph splits = 1',
  'CUDA error: the provided PTX was compiled with an unsupported toolchain',
  '  current device: 0, in function ggml_cuda_kernel_launch at common.cuh:1234',
  '  cudaGetLastError()',
  'ggml-cuda.cu:108: CUDA error',
];

describe('gpuFailure', () => {
  test('the reason above the last lines', () => {
    expect(gpuFailure(oldDriver)).toBe('the provided PTX was compiled with an unsupported toolchain');
  });

  test.each([
    [
      [
        'load_backend: failed to load /p/libggml-cuda.so: libcublas.so.12: cannot open shared object file: No such file',
      ],
      'libcublas.so.12: cannot open shared object file: No such file',
    ],
    [
      ['ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected'],
      'no CUDA-capable device is detected',
    ],
    [['HIP error: no kernel image is available'], 'no kernel image is available'],
    [
      [
        "terminate called after throwing an instance of 'vk::DeviceLostError'",
        '  what():  vk::Queue::submit: ErrorDeviceLost',
      ],
      'vk::Queue::submit: ErrorDeviceLost',
    ],
    [['ggml_vulkan: Device memory allocation of size 9 failed.'], 'Device memory allocation of size 9 failed.'],
    [
      ['something', 'src/ggml-cuda/mmq.cu:9: ggml-cuda assert failed'],
      'src/ggml-cuda/mmq.cu:9: ggml-cuda assert failed',
    ],
  ])('%j: %j', (lines, reason) => {
    expect(gpuFailure(lines)).toBe(reason);
  });

  test.each([
    [[]],
    [['llama_model_load: error loading model: unknown model architecture']],
    [['ggml_cuda_init: found 1 CUDA devices', 'load failed: not enough memory']],
    [['ggml_vulkan: 0 = llvmpipe']],
    [['load_backend: failed to load /p/libggml-vulkan.so: libvulkan.so.1: cannot open shared object file']],
  ])('%j: undefined', (lines) => {
    expect(gpuFailure(lines)).toBeUndefined();
  });
});

describe('GPU messages', () => {
  const failure = 'the driver is too old';
  const known = { installed: ['cuda', 'vulkan', 'none'], canBuild: () => false } as const;

  test('fallBackNote: reason, fallback and what may help', () => {
    expect(fallBackNote('cuda', failure, 'vulkan', known)).toBe(
      'CUDA cannot be used here (the driver is too old); going on with Vulkan. What may help: a newer NVIDIA driver, or ' +
        'the package @node-llama-cpp/linux-x64-cuda-ext (made with CUDA 12, needs the libraries of CUDA 12 on this machine), or --usecpu.',
    );
  });

  test('fallBackNote: no advice while another CUDA build is tried', () => {
    expect(fallBackNote('cuda', failure, 'cuda-ext', known)).toBe(
      'CUDA cannot be used here (the driver is too old); going on with CUDA 12 (cuda-ext).',
    );
  });

  test('fallBackNote: recommends nothing that was tried or is in use', () => {
    const note = fallBackNote('cuda-ext', failure, 'none', { ...known, installed: ['cuda', 'cuda-ext', 'none'] });
    expect(note).toContain('CUDA 12 (cuda-ext) cannot be used here');
    expect(note).toContain('going on with the CPU');
    expect(note).not.toContain('linux-x64-cuda-ext');
    expect(note).not.toContain('--usecpu');
  });

  test('fallBackNote: recommends compiling where a CUDA compiler is, unless that was done', () => {
    const compiler = { ...known, canBuild: () => true };
    expect(fallBackNote('cuda', failure, 'none', compiler)).toContain('What may help: parley pack build cuda');
    const done = { ...compiler, installed: ['cuda-built', 'none'] } as const;
    expect(fallBackNote('cuda-built', failure, 'none', done)).not.toContain('pack build');
  });

  test('fallBackNote: names the missing libraries of CUDA 12', () => {
    const reason = 'libcublas.so.12: cannot open shared object file: No such file or directory';
    const note = fallBackNote('cuda-ext', reason, 'none', known);
    expect(note).toContain(`cannot be used here (${reason})`);
    expect(note).toContain('the libraries of CUDA 12 (libcublas.so.12, libcudart.so.12)');
  });

  test('failedForGood: the reason of each build, and what to try', () => {
    expect(failedForGood([{ build: 'cuda', reason: failure }], known)).toMatch(
      /^CUDA cannot be used here: the driver is too old\. What may help: .*driver.*cuda-ext.*--usevulkan.*--usecpu\.$/,
    );
    const both = [
      { build: 'cuda', reason: failure },
      { build: 'cuda-ext', reason: 'no library' },
    ] as const;
    expect(failedForGood(both, known)).toContain(
      'the driver is too old; CUDA 12 (cuda-ext): no library. What may help',
    );
    expect(failedForGood([{ build: 'vulkan', reason: failure }], known)).toMatch(/newer graphics driver.*--usecpu/);
  });
});

describe('gpuMemoryFailure', () => {
  test.each([
    [
      [
        'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out of memory',
        'alloc_tensor_range: failed to allocate CUDA0 buffer of size 9437184000',
        'llama_model_load: error loading model: unable to allocate CUDA0 buffer',
      ],
      'allocating 9000.00 MiB on device 0: cudaMalloc failed: out of memory',
    ],
    [['CUDA error: out of memory', 'ggml-cuda.cu:108: CUDA error'], 'CUDA error: out of memory'],
    [['ggml_vulkan: Device memory allocation of size 9 failed.'], 'Device memory allocation of size 9 failed.'],
    [['  what():  vk::Device::allocateMemory: ErrorOutOfDeviceMemory'], 'vk::Device::allocateMemory'],
  ])('%j: %j', (lines, reason) => {
    expect(gpuMemoryFailure(lines)).toContain(reason);
  });

  test.each([
    [['llama_model_load: error loading model: unable to allocate CPU buffer']],
    [['CUDA error: the provided PTX was compiled with an unsupported toolchain']],
    [['ggml_aligned_malloc: insufficient memory (attempted to allocate 9 MB)']],
    [[]],
  ])('%j: undefined', (lines) => {
    expect(gpuMemoryFailure(lines)).toBeUndefined();
  });
});

test('fewerLayers: three quarters, half, a quarter, none', () => {
  const steps: number[] = [];
  for (let next = fewerLayers(33, 33); next !== undefined; next = fewerLayers(next, 33)) steps.push(next);
  expect(steps).toEqual([24, 16, 8, 0]);
  expect(fewerLayers(1, 1)).toBe(0);
  expect(fewerLayers(0, 33)).toBeUndefined();
});

test('fewerLayersNote: how many, why, and what needs less', () => {
  expect(fewerLayersNote('cudaMalloc failed', 33, 24)).toMatch(
    /no memory for 33 layers \(cudaMalloc failed\); going on with 24\./,
  );
  expect(fewerLayersNote('cudaMalloc failed', 8, 0)).toContain('all layers stay on the CPU');
});

test.each([
  [
    [
      "llama_model_load: error loading model: unknown model architecture: 'abc'",
      'llama_model_load_from_file_impl: failed to load model',
    ],
    "unknown model architecture: 'abc'",
  ],
  [
    [
      'CUDA error: the driver is too old',
      '  current device: 0, in function f at g.cu:1',
      'ggml-cuda.cu:108: CUDA error',
    ],
    'the driver is too old',
  ],
  [['ggml_vulkan: unable to allocate 900 MB', 'something failed later'], 'unable to allocate 900 MB'],
  [['load: printing all EOG tokens', 'common: invalid magic'], 'invalid magic'],
  [['all is well', 'still loading'], 'the engine process died of SIGKILL'],
  [[], 'the engine process died of SIGKILL'],
])('loadReason: of %j the most specific line', (lines, expected) => {
  expect(loadReason(lines, 'the engine process died of SIGKILL')).toBe(expected);
});
