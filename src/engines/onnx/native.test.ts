import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runtimeAmong, runtimeFile } from './native.ts';

test('the library of this system is there', () => {
  expect(existsSync(runtimeFile())).toBe(true);
});

test('it is found under the names that it has on all systems', () => {
  const others = ['README.md', 'sherpa-onnx.node', 'index.js'];
  const found = (...files: string[]) => runtimeAmong([...others, ...files]);
  expect(found('libonnxruntime.so', 'libsherpa-onnx-c-api.so')).toBe('libonnxruntime.so');
  expect(found('libonnxruntime.1.28.2.dylib', 'libonnxruntime.dylib')).toBe('libonnxruntime.dylib');
  expect(found('libonnxruntime.1.28.2.dylib')).toBe('libonnxruntime.1.28.2.dylib');
  expect(found('libonnxruntime.so.1')).toBe('libonnxruntime.so.1');
  expect(found('onnxruntime.dll', 'onnxruntime_providers_shared.dll')).toBe('onnxruntime.dll');
});

test('what only looks like it is not taken', () => {
  expect(runtimeAmong(['libonnxruntime_providers_shared.so', 'onnxruntime.lib', 'my-onnxruntime.dll'])).toBeUndefined();
  expect(runtimeAmong([])).toBeUndefined();
});

test('a system for which there is none is named, with the package that is missing', () => {
  expect(() => runtimeFile({ platform: 'aix', arch: 'ppc64' })).toThrow(
    'there is no ONNX Runtime for aix ppc64: the package sherpa-onnx-aix-ppc64 is not installed',
  );
  expect(() => runtimeFile({ platform: 'win32', arch: 'mips' })).toThrow(/sherpa-onnx-win-mips/);
});
