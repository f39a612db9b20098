import { expect, test } from 'vitest';
import { cpuBuilds } from './cpu-builds.ts';

const runnable = ['sapphirerapids', 'icelake', 'haswell', 'sandybridge', 'sse42', 'x64'];

test('every build that runs here may be used', () =>
  expect(cpuBuilds(runnable, { cpuLevel: 'best', cpuBuild: undefined })).toEqual(runnable));

test.each([
  ['no-avx2', ['sandybridge', 'sse42', 'x64']],
  ['no-avx', ['sse42', 'x64']],
] as const)('%s leaves %j', (cpuLevel, left) =>
  expect(cpuBuilds(runnable, { cpuLevel, cpuBuild: undefined })).toEqual(left),
);

test('a named build comes first, with the lesser ones behind it in case it dies', () =>
  expect(cpuBuilds(runnable, { cpuLevel: 'best', cpuBuild: 'haswell' })).toEqual([
    'haswell',
    'sandybridge',
    'sse42',
    'x64',
  ]));

test('a build that cannot run here is refused with the names of those that can', () => {
  expect(() => cpuBuilds(runnable, { cpuLevel: 'best', cpuBuild: 'zen9' })).toThrow(/"zen9".*one of sapphirerapids/);
  expect(() => cpuBuilds([], { cpuLevel: 'best', cpuBuild: 'zen9' })).toThrow(/one build only/);
});
