import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runtimeAmong, runtimeFile } from './native.ts';

test('runtimeFile: finds the library of this system', () => {
  expect(existsSync(runtimeFile())).toBe(true);
});

test('runtimeAmong: finds the names of all systems', () => {
  const others = ['README.md', 'sherpa-onnx.node', 'index.js'];
  const found = (...files: string[]) => runtimeAmong([...others, ...files]);
  expect(found('libonnxruntime.so', 'libsherpa-onnx-c-api.so')).toBe('libonnxruntime.so');
  expect(found('libonnxruntime.1.28.2.dylib', 'libonnxruntime.dylib')).toBe('libonnxruntime.dylib');
  expect(found('libonnxruntime.1.28.2.dylib')).toBe('libonnxruntime.1.28.2.dylib');
  expect(found('libonnxruntime.so.1')).toBe('libonnxruntime.so.1');
  expect(found('onnxruntime.dll', 'onnxruntime_providers_shared.dll')).toBe('onnxruntime.dll');
});

test('runtimeAmong: ignores similar names', () => {
  expect(runtimeAmong(['libonnxruntime_providers_shared.so', 'onnxruntime.lib', 'my-onnxruntime.dll'])).toBeUndefined();
  expect(runtimeAmong([])).toBeUndefined();
});

test('runtimeFile: names the missing package of an unsupported system', () => {
  expect(() => runtimeFile({ platform: 'aix', arch: 'ppc64' })).toThrow(
    'there is no ONNX Runtime for aix ppc64: the package sherpa-onnx-aix-ppc64 is not installed',
  );
  expect(() => runtimeFile({ platform: 'win32', arch: 'mips' })).toThrow(/sherpa-onnx-win-mips/);
});
