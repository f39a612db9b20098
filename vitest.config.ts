import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests of the repository itself, which start no server. */
const serverless = [
  'test/architecture.test.ts',
  'test/packaging.test.ts',
  'test/bundle.test.ts',
  'test/docs/**/*.test.ts',
  'test/lock-file.test.ts',
  'test/updates.test.ts',
];
const common = {
  setupFiles: 'test/clean-environment.ts',
  // They end tests that hang. A slow machine that does other work must not reach them.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 300_000 } },
};

/** Those of the engines and of their tools. */
const engines = [
  ...['src/engines', 'scripts/conversion', 'scripts/engine-check', 'bench'].flatMap(testsIn),
  ...['src/chat', 'src/grammar']
    .flatMap(testsIn)
    .filter((path) => readFileSync(path, 'utf8').includes('openNativeGrammar')),
];
/** Those of them that load native libraries, whose types can be named only once in a process. */
const native = engines.filter((path) => imports(path, 'koffi'));

function testsIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => `${folder}/${name.replaceAll('\\', '/')}`);
}

/** Whether a file imports a package, itself or through others. */
function imports(path: string, name: string, seen = new Set<string>()): boolean {
  if (seen.has(path) || !existsSync(path)) return false;
  seen.add(path);
  const specifiers = readFileSync(path, 'utf8').matchAll(
    /^(?:import|export)\s(?!type\s)[^;]*?'([^'\n]+)';$|import\('([^']+)'\)/gm,
  );
  return [...specifiers].some(([, fixed, dynamic]) => {
    const specifier = fixed ?? dynamic ?? '';
    return specifier === name || (specifier.startsWith('.') && imports(join(dirname(path), specifier), name, seen));
  });
}

/** The same among the tests of a running server. */
const liveNative = testsIn('test').filter((path) => !serverless.includes(path) && imports(path, 'koffi'));

/** Vitest leaves one core to itself, which is idle most of the time: on two cores half of the time would be lost. */
const allCores = availableParallelism();

/** Short by default; `npm run test:load` runs them at full size. */
const load = ['test/load/*-load.test.ts'];

/** Those that mostly wait until a silent engine counts as hanging: beside each other, but not beside those that compute. */
const hangs = ['test/faults/hang.test.ts', 'test/faults/engine-process.test.ts'];

/** Those that measure time and memory: nobody else may be at work beside them. */
const alone = ['test/faults/short.test.ts', ...load];

/** Those that compute for a minute and more, in few lines. */
const long = ['live/recall', 'live/deterministic', 'live/prediction', 'pack'].map((name) => `/test/${name}.test.ts`);

/** On a fresh clone nothing is known of times, and the smallest files would begin last: one that takes long would run alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    const place = ({ project, moduleId }: TestSpecification) =>
      2 * projects.indexOf(project) + (long.some((path) => moduleId.endsWith(path)) ? 0 : 1);
    return sorted.sort((one, other) => place(one) - place(other));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // What has not changed since the last run is not compiled again.
    experimental: { fsModuleCache: true },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'web/**/*.test.ts', ...serverless],
          exclude: engines,
          sequence: { groupOrder: 0 },
          // A process for each file takes longer than its tests; they share nothing that they change.
          isolate: false,
          maxWorkers: allCores,
          ...common,
        },
      },
      {
        test: {
          name: 'engines',
          include: engines,
          exclude: native,
          globalSetup: 'test/weights-setup.ts',
          sequence: { groupOrder: 1 },
          isolate: false,
          maxWorkers: allCores,
          ...common,
        },
      },
      {
        test: {
          name: 'native',
          include: native,
          globalSetup: 'test/weights-setup.ts',
          sequence: { groupOrder: 1 },
          maxWorkers: allCores,
          ...common,
        },
      },
      {
        test: {
          name: 'live',
          include: ['test/**/*.test.ts'],
          exclude: [...serverless, ...hangs, ...alone, ...liveNative, 'test/release/**', 'test/agents/**'],
          globalSetup: 'test/live-setup.ts',
          sequence: { groupOrder: 2 },
          // As above: their servers are processes of their own, and each file has a home folder of its own.
          isolate: false,
          // Their servers compute with one thread each, and some of them wait for a clock: one more than two cores keep busy.
          maxWorkers: 3,
          ...common,
        },
      },
      {
        test: {
          name: 'live-native',
          include: liveNative,
          globalSetup: 'test/live-setup.ts',
          sequence: { groupOrder: 2 },
          maxWorkers: 3,
          ...common,
        },
      },
      {
        test: {
          name: 'hangs',
          include: hangs,
          sequence: { groupOrder: 3 },
          maxWorkers: 2,
          ...common,
        },
      },
      {
        test: {
          name: 'alone',
          include: alone,
          sequence: { groupOrder: 4 },
          maxWorkers: 1,
          ...common,
        },
      },
      {
        // `npm run test:faults`: every fault of the table, and the tests of faults that `npm test` runs too.
        test: {
          name: 'faults',
          include: ['test/faults/all.faults.ts', 'test/faults/*.test.ts'],
          exclude: ['test/faults/short.test.ts'],
          maxWorkers: 1,
          ...common,
        },
      },
      {
        // `npm run test:load`: up to an hour and more.
        test: {
          name: 'load',
          include: load,
          maxWorkers: 1,
          disableConsoleIntercept: true,
          ...common,
          testTimeout: 2 * 3_600_000,
        },
      },
      {
        // `npm run test:agents`: downloads a gigabyte the first time.
        test: {
          name: 'agents',
          include: ['test/agents/**/*.test.ts'],
          maxWorkers: 1,
          ...common,
        },
      },
      {
        // `npm run test:release`: minutes, root, and a release that has been made.
        test: {
          name: 'release',
          include: ['test/release/**/*.test.ts'],
          maxWorkers: 1,
          ...common,
          hookTimeout: 900_000,
        },
      },
    ],
  },
});
