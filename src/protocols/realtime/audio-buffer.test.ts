import { expect, test } from 'vitest';
import { AudioBuffer, samplesOf, wavOf } from './audio-buffer.ts';

const counted = (from: number, to: number): Int16Array =>
  Int16Array.from({ length: to - from }, (_, index) => from + index);

test('AudioBuffer: slices by positions since the beginning, whatever was dropped', () => {
  const buffer = new AudioBuffer();
  buffer.append(counted(0, 10));
  buffer.append(counted(10, 25));
  buffer.dropBefore(4);
  buffer.append(counted(25, 30));
  expect([...buffer.slice(8, 27)]).toEqual([...counted(8, 27)]);
  expect([...buffer.slice(0, 6)]).toEqual([4, 5]);
  expect([buffer.length, buffer.end]).toEqual([26, 30]);
  buffer.dropBefore(26);
  expect([...buffer.slice(0, 100)]).toEqual([26, 27, 28, 29]);
  buffer.clear();
  expect([buffer.length, buffer.end, buffer.slice(0, 100).length]).toEqual([0, 30, 0]);
});

test('samplesOf: half a sample at the end belongs to the next bytes', () => {
  const bytes = Buffer.from([1, 0, 2, 0, 3, 0]);
  const first = samplesOf('pcm16', bytes.subarray(0, 3), undefined);
  const second = samplesOf('pcm16', bytes.subarray(3), first.odd);
  expect([...first.samples, ...second.samples, second.odd]).toEqual([1, 2, 3, undefined]);
});

test('wavOf: writes the header and the samples', () => {
  const file = wavOf(Int16Array.of(1, -2), 8000);
  expect(file.length).toBe(48);
  expect([file.toString('latin1', 0, 4), file.readUInt32LE(24), file.readInt16LE(46)]).toEqual(['RIFF', 8000, -2]);
});
