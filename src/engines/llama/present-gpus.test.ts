import { expect, test } from 'vitest';
import { type GpuFiles, howToGetCuda, nvidiaGpus, presentGpus, unusedGpu } from './present-gpus.ts';

const machine = (own: Partial<GpuFiles> & { readonly files?: Readonly<Record<string, string>> }): GpuFiles => ({
  platform: 'linux',
  list: (folder) => {
    const inside = Object.keys(own.files ?? {}).filter((path) => path.startsWith(`${folder}/`));
    return [...new Set(inside.map((path) => path.slice(folder.length + 1).split('/')[0] ?? ''))];
  },
  read: (path) => own.files?.[path] ?? '',
  exists: (path) => own.files?.[path] !== undefined,
  windowsFolder: 'D:\\Windows',
  ...own,
});
const driver = { '/proc/driver/nvidia/gpus/0000:01:00.0/information': 'Model: \t\t NVIDIA L4\nIRQ: 5\n' };
const kernel = {
  '/sys/class/drm/card0/device/vendor': '0x10de\n',
  '/sys/class/drm/card0/device/device': '0x27b8\n',
  '/sys/class/drm/card0-DP-1/status': 'connected\n',
  '/sys/class/drm/card1/device/vendor': '0x1002\n',
  '/sys/class/drm/card1/device/device': '0x73bf\n',
  '/sys/class/drm/card2/device/vendor': '0x1a03\n',
};

test('presentGpus: names from the NVIDIA driver, numbers from the kernel', () => {
  expect(presentGpus(machine({ files: { ...driver, ...kernel } }))).toEqual(['NVIDIA L4', 'AMD 0x73bf']);
  expect(presentGpus(machine({ files: kernel }))).toEqual(['NVIDIA 0x27b8', 'AMD 0x73bf']);
  expect(presentGpus(machine({}))).toEqual([]);
});

test('nvidiaGpus: needs the driver, on Linux, in WSL and on Windows', () => {
  expect(nvidiaGpus(machine({ files: driver }))).toEqual(['NVIDIA L4']);
  expect(nvidiaGpus(machine({ files: kernel }))).toEqual([]);
  expect(nvidiaGpus(machine({ files: { '/usr/lib/wsl/lib/libcuda.so.1': '' } }))).toEqual(['NVIDIA card']);
  const files = { 'D:\\Windows\\System32\\nvml.dll': '' };
  expect(nvidiaGpus(machine({ platform: 'win32', files }))).toEqual(['NVIDIA card']);
  expect(nvidiaGpus(machine({ platform: 'win32' }))).toEqual([]);
  expect(nvidiaGpus(machine({ platform: 'darwin', files: driver }))).toEqual([]);
});

const how = 'parley pack add cuda';

test('unusedGpu: the reason and the command for an NVIDIA GPU without a CUDA build', () => {
  expect(unusedGpu(['AMD 0x73bf', 'NVIDIA L4'], ['vulkan', 'none'], how)).toEqual({
    reason: 'NVIDIA L4 is not used: Vulkan finds no card that it can use',
    advice: 'To use it: parley pack add cuda',
  });
  expect(unusedGpu(['NVIDIA L4'], ['none'], how)?.reason).toBe('NVIDIA L4 is not used: no installed build can use it');
});

test('unusedGpu: undefined without an NVIDIA GPU, and with a CUDA build, whose failure is reported by itself', () => {
  expect(unusedGpu(['AMD 0x73bf'], ['vulkan'], how)).toBeUndefined();
  expect(unusedGpu([], ['none'], how)).toBeUndefined();
  for (const build of ['cuda', 'cuda-ext', 'cuda-built', 'cuda-system'] as const)
    expect(unusedGpu(['NVIDIA L4'], [build, 'vulkan', 'none'], how)).toBeUndefined();
});

test('howToGetCuda: the pack where there is one, the compiler where there is one', () => {
  expect(howToGetCuda(false, 'linux-x64')).toBe('parley pack add cuda');
  expect(howToGetCuda(true, 'linux-x64')).toBe('parley pack add cuda, or parley pack build cuda');
  expect(howToGetCuda(true, 'linux-arm64')).toBe('parley pack build cuda');
  expect(howToGetCuda(false, 'linux-arm64')).toContain('needs the CUDA toolkit');
});
