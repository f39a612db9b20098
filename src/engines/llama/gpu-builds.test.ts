import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  engineVersion,
  failedForGood,
  fallBackNote,
  gpuBuilds,
  gpuFailure,
  type InstalledBuilds,
  installedBuilds,
  loadReason,
  nextGpuBuild,
  packagesFor,
} from './gpu-builds.ts';
import type { GpuBuild } from './load-options.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-builds-'));
afterAll(() => rmSync(root, { recursive: true }));

/** What is found where these packages are installed, each with its folder and an empty library in it. */
function found(names: readonly string[], system = { platform: 'linux', arch: 'x64' } as const): InstalledBuilds {
  const folder = mkdtempSync(join(root, 'packages-'));
  for (const name of names) {
    const extension = name.endsWith('-ext');
    const bins = join(folder, name, 'bins', 'some-system', extension ? 'fallback' : '');
    mkdirSync(bins, { recursive: true });
    if (extension) writeFileSync(join(bins, 'libggml-cuda.so'), '');
  }
  return installedBuilds(undefined, (name) => (names.includes(name) ? join(folder, name) : undefined), system);
}

describe('packagesFor', () => {
  test.each([
    ['none', 'linux', 'arm64', '@node-llama-cpp/linux-arm64'],
    ['vulkan', 'win32', 'x64', '@node-llama-cpp/win-x64-vulkan'],
    ['metal', 'darwin', 'arm64', '@node-llama-cpp/mac-arm64-metal'],
    ['cuda', 'linux', 'x64', '@node-llama-cpp/linux-x64-cuda'],
  ] as const)('%s on %s %s: %s first', (build, platform, arch, expected) => {
    expect(packagesFor(build, platform, arch)[0]).toBe(expected);
  });

  test('cpu: any package', () => {
    expect(packagesFor('none', 'linux', 'x64')).toHaveLength(4);
  });
});

describe('installedBuilds', () => {
  test('a Vulkan package contains Vulkan and CPU', () => {
    const builds = found(['@node-llama-cpp/linux-x64-vulkan']);
    expect([...builds.keys()].sort()).toEqual(['none', 'vulkan']);
    expect(builds.get('none')).toEqual(builds.get('vulkan'));
  });

  test('the plain package is preferred for the CPU', () => {
    const builds = found(['@node-llama-cpp/linux-x64-vulkan', '@node-llama-cpp/linux-x64']);
    expect(builds.get('none')?.folder).toContain(join('linux-x64', 'bins'));
  });

  test('the older CUDA library replaces that of the package it extends', () => {
    const builds = found(['@node-llama-cpp/linux-x64-cuda', '@node-llama-cpp/linux-x64-cuda-ext']);
    expect(builds.get('cuda-ext')?.folder).toBe(builds.get('cuda')?.folder);
    expect(builds.get('cuda-ext')?.gpuLibrary).toContain(join('fallback', 'libggml-cuda.so'));
    expect(builds.get('cuda')?.gpuLibrary).toBeUndefined();
  });

  test('the extension needs its package, and an empty extension does not count', () => {
    expect(found(['@node-llama-cpp/linux-x64-cuda-ext']).has('cuda-ext')).toBe(false);
    expect(found(['@node-llama-cpp/linux-x64-cuda']).has('cuda-ext')).toBe(false);
  });

  test('packages of other systems do not count', () => {
    expect(found(['@node-llama-cpp/win-x64-vulkan']).size).toBe(0);
    expect(found(['@node-llama-cpp/mac-arm64-metal'], { platform: 'linux', arch: 'x64' }).size).toBe(0);
  });

  test('a pack of another version is not used, and named once', () => {
    const folder = mkdtempSync(join(root, 'packages-'));
    const name = '@node-llama-cpp/linux-x64-cuda';
    mkdirSync(join(folder, name, 'bins', 'some-system'), { recursive: true });
    const told: string[] = [];
    const builds = (version: string) => {
      writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ version }));
      const find = (asked: string) => (asked === name ? join(folder, name) : undefined);
      return installedBuilds((sentence) => told.push(sentence), find, { platform: 'linux', arch: 'x64' });
    };
    expect([...builds(engineVersion).keys()].sort()).toEqual(['cuda', 'none']);
    expect(told).toEqual([]);
    expect(builds('3.0.0').size).toBe(0);
    expect(told).toEqual([
      `the pack cuda is of another version (${name} 3.0.0, not ${engineVersion}). Type: parley pack add cuda`,
    ]);
  });

  test('contains at least the CPU on this machine', () => {
    expect(installedBuilds().get('none')?.folder).toBeTruthy();
  });
});

/** As it was printed on a card whose driver is older than the toolkit of the package. */
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
  ])('%j: undefined', (lines) => {
    expect(gpuFailure(lines)).toBeUndefined();
  });
});

describe('nextGpuBuild', () => {
  const all: GpuBuild[] = ['none', 'vulkan', 'cuda-ext', 'cuda'];

  test('without a flag: CUDA, older CUDA, Vulkan, CPU', () => {
    const order: GpuBuild[] = [];
    for (let next = nextGpuBuild('auto', all, order); next; next = nextGpuBuild('auto', all, order)) order.push(next);
    expect(order).toEqual(['cuda', 'cuda-ext', 'vulkan', 'none']);
  });

  test('a backend flag is never replaced', () => {
    expect(nextGpuBuild('cuda', all, [])).toBe('cuda');
    expect(nextGpuBuild('cuda', all, ['cuda'])).toBe('cuda-ext');
    expect(nextGpuBuild('cuda', all, ['cuda', 'cuda-ext'])).toBeUndefined();
    expect(nextGpuBuild('vulkan', all, ['vulkan'])).toBeUndefined();
    expect(nextGpuBuild('cpu', all, [])).toBe('none');
  });

  test('skips builds that are not installed', () => {
    expect(nextGpuBuild('auto', ['vulkan', 'none'], [])).toBe('vulkan');
    expect(nextGpuBuild('cuda', ['vulkan', 'none'], [])).toBeUndefined();
  });

  test('the CPU is last, and only without a GPU flag', () => {
    expect(gpuBuilds.auto.at(-1)).toBe('none');
    expect([...gpuBuilds.cuda, ...gpuBuilds.vulkan]).not.toContain('none');
  });
});

describe('GPU messages', () => {
  const failure = 'the driver is too old';

  test('fallBackNote: reason, fallback and what may help', () => {
    expect(fallBackNote('cuda', failure, 'vulkan')).toBe(
      'CUDA cannot be used here (the driver is too old); going on with Vulkan. What may help: a newer NVIDIA driver, or ' +
        'the package @node-llama-cpp/linux-x64-cuda-ext (made with CUDA 12, needs the libraries of CUDA 12 on this machine), or --usecpu.',
    );
  });

  test('fallBackNote: recommends nothing that was tried or is in use', () => {
    const told = fallBackNote('cuda-ext', failure, 'none');
    expect(told).toContain('CUDA 12 (cuda-ext) cannot be used here');
    expect(told).toContain('going on with the CPU');
    expect(told).not.toContain('linux-x64-cuda-ext');
    expect(told).not.toContain('--usecpu');
  });

  test('failedForGood: reason and what to try', () => {
    expect(failedForGood('cuda', failure, ['cuda'])).toMatch(
      /^CUDA cannot be used here: the driver is too old\. What may help: .*driver.*cuda-ext.*--usevulkan.*--usecpu\.$/,
    );
    expect(failedForGood('vulkan', failure, ['vulkan'])).toMatch(/newer graphics driver.*--usecpu/);
  });
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
