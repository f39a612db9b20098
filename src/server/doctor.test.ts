import { describe, expect, test } from 'vitest';
import type { Probe } from '../core/probe.ts';
import { doctorCommand, examine, reportLines } from './doctor.ts';
import type { Machine } from './doctor-machine.ts';
import type { ProbeResult } from './probe.ts';

const gigabyte = 1e9;

/** A machine on which everything works, but for `own`. */
function machine(own: Partial<Machine> = {}): Machine {
  return {
    product: { name: 'Parley', version: '1.2.3', commit: '1a2b3c' },
    system: { platform: 'linux', arch: 'x64', nodeVersion: '24.1.0' },
    hardware: () => ({ system: 'Linux 6', processor: '8 × CPU', memory: '16 GB' }),
    versionOf: () => '3.0.0',
    probe: async () => ({ type: 'loaded', version: '7' }),
    ownFiles: [{ name: 'Text', content: 'mini', needed: true, check: async () => undefined }],
    sqlite: () => '3.50.0 (of Node)',
    catalogue: [],
    packState: async () => 'absent',
    builds: () => ['none'],
    gpus: () => [],
    programPath: () => undefined,
    models: async () => [],
    folders: () => [{ name: 'data', path: '/data/parley' }],
    folder: async () => ({ exists: true, writable: true, freeBytes: 50 * gigabyte }),
    port: 5001,
    portState: async () => 'free',
    addresses: () => [{ address: '192.168.1.5', interfaceName: 'eth0', kind: 'lan' }],
    firewall: async () => undefined,
    ...own,
  };
}

async function findings(section: string, own: Partial<Machine> = {}) {
  const report = await examine(machine(own));
  return report.findings.filter((one) => one.section === section);
}

const failing =
  (broken: Probe, reason: string) =>
  async (probe: Probe): Promise<ProbeResult> =>
    probe === broken ? { type: 'failed', reason } : { type: 'loaded' };

describe('examine', () => {
  test('a machine on which everything works can serve', async () => {
    const { canServe, findings: all } = await examine(machine());
    expect(canServe).toBe(true);
    expect(all.filter(({ status }) => status === 'problem')).toEqual([]);
  });

  test('every finding that is not ok has advice', async () => {
    const { findings: all } = await examine(
      machine({
        versionOf: () => undefined,
        gpus: () => ['NVIDIA L4'],
        folder: async () => ({ exists: false, writable: false, freeBytes: 0 }),
        portState: async () => 'taken',
        ownFiles: [{ name: 'Text', content: 'mini', check: () => Promise.reject(new Error('gone')) }],
      }),
    );
    expect(all.filter(({ status, advice }) => status !== 'ok' && !advice)).toEqual([]);
  });

  test('what throws is a problem in its section, and the other sections are there', async () => {
    const throws = (): never => {
      throw new Error('out of luck');
    };
    const { findings: all, canServe } = await examine(
      machine({ hardware: throws, builds: throws, gpus: throws, models: throws, folder: throws, portState: throws }),
    );
    const broken = all
      .filter(({ name }) => name === 'Not examined')
      .map(({ section, detail }) => `${section}: ${detail}`);
    expect(broken).toEqual(
      ['Program', 'Graphics cards', 'Models', 'Folders', 'Network'].map((section) => `${section}: out of luck`),
    );
    expect(canServe).toBe(true);
  });

  test('names why documents cannot be stored', async () => {
    const sqlite = () => {
      throw new Error('no such module: fts5');
    };
    expect(await findings('Documents')).toMatchObject([{ name: 'SQLite', status: 'ok', detail: '3.50.0 (of Node)' }]);
    expect(await findings('Documents', { sqlite })).toMatchObject([
      { status: 'problem', detail: 'cannot be used: no such module: fts5', advice: expect.stringContaining('Install') },
    ]);
  });

  test('loads each native part once', async () => {
    const asked: Probe[] = [];
    const probe = async (wanted: Probe): Promise<ProbeResult> => {
      asked.push(wanted);
      return { type: 'loaded' };
    };
    await examine(machine({ probe }));
    expect(asked.length).toBe(new Set(asked).size);
  });
});

describe('Program', () => {
  test('an old Node is a problem, and Parley cannot serve', async () => {
    const old = machine({ system: { platform: 'linux', arch: 'x64', nodeVersion: '18.20.0' } });
    const report = await examine(old);
    expect(report.canServe).toBe(false);
    expect(report.findings).toContainEqual(
      expect.objectContaining({ name: 'Node', status: 'problem', advice: 'Install Node 20 or later.' }),
    );
  });
});

describe('Engines', () => {
  test('have library, version and package', async () => {
    const [text] = await findings('Engines');
    expect(text).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/^llama\.cpp 7 \(@node-llama-cpp\/\S+ 3/),
    });
  });

  test('Parley cannot serve if llama.cpp does not load', async () => {
    const report = await examine(machine({ probe: failing('llama none', 'no AVX here') }));
    expect(report.canServe).toBe(false);
    expect(report.findings).toContainEqual(
      expect.objectContaining({ name: 'Text', status: 'problem', detail: expect.stringContaining('no AVX here') }),
    );
  });

  test('Parley can serve without an engine of another kind', async () => {
    const versionOf = (name: string) => (name.includes('whisper') ? undefined : '1');
    const report = await examine(machine({ probe: failing('sharp', 'no libvips'), versionOf }));
    expect(report.canServe).toBe(true);
    const faulty = report.findings.filter(({ section, status }) => section === 'Engines' && status !== 'ok');
    expect(faulty.map(({ name, status }) => `${name}: ${status}`)).toEqual([
      'Image files: problem',
      'Transcription (--whispermodel): missing',
    ]);
  });
});

test('Built-in: a damaged file is a problem with its reason', async () => {
  const ownFiles = [
    { name: 'Text', content: 'mini', needed: true, check: () => Promise.reject(new Error('x is damaged')) },
  ];
  expect(await findings('Built-in', { ownFiles })).toMatchObject([{ status: 'problem', detail: 'x is damaged' }]);
  expect((await examine(machine({ ownFiles }))).canServe).toBe(false);
});

describe('Packs', () => {
  const part = (name: string) => ({ name, version: '2.0.0', integrity: 'sha512-x', megabytes: 100 });
  const catalogue = [
    {
      name: 'vision',
      brings: 'Eyes.',
      licence: 'MIT',
      packages: { 'linux-x64': [part('a'), part('b')] },
      probe: 'fabric' as const,
    },
    { name: 'elsewhere', brings: 'Nothing.', licence: 'MIT', packages: { 'win32-x64': [part('c')] } },
  ];

  test.each([
    ['absent', 'missing', 'parley pack add vision downloads it (200 MB).'],
    ['broken', 'problem', 'parley pack repair vision downloads what is broken.'],
    ['outdated', 'problem', 'parley pack add vision updates it.'],
    ['installed', 'ok', undefined],
  ] as const)('a pack that is %s: %s', async (state, status, advice) => {
    const [found, ...others] = await findings('Packs', { catalogue, packState: async () => state });
    expect([found?.name, found?.status, found?.advice]).toEqual(['vision', status, advice]);
    expect(others).toEqual([]);
  });

  test('an installed pack that does not load is a problem', async () => {
    const own = { catalogue, packState: async () => 'installed' as const, probe: failing('fabric', 'wrong system') };
    expect(await findings('Packs', own)).toMatchObject([
      { status: 'problem', detail: 'cannot be loaded: wrong system', advice: expect.stringContaining('parley pack') },
    ]);
  });
});

describe('Graphics cards', () => {
  const device = (name: string, graphics: boolean) => ({
    name,
    graphics,
    freeBytes: 20 * gigabyte,
    totalBytes: 24 * gigabyte,
  });
  const seeing = async (): Promise<ProbeResult> => ({
    type: 'loaded',
    devices: [device('CPU', false), device('L4', true)],
  });
  const blind = async (): Promise<ProbeResult> => ({ type: 'loaded', devices: [device('CPU', false)] });

  test('none is ok', async () => {
    expect(await findings('Graphics cards')).toMatchObject([{ status: 'ok', detail: expect.stringContaining('none') }]);
  });

  test('a build names the GPUs that it can use', async () => {
    const found = await findings('Graphics cards', { builds: () => ['vulkan', 'none'], probe: seeing });
    expect(found).toMatchObject([{ name: 'Vulkan', status: 'ok', detail: 'L4 (20.0 GB of 24.0 GB free)' }]);
  });

  test('a build that sees none of the GPUs is a problem', async () => {
    const own: Partial<Machine> = { builds: () => ['vulkan'], gpus: () => ['AMD 0x73bf'], probe: blind };
    expect(await findings('Graphics cards', own)).toMatchObject([
      { name: 'Card', status: 'ok', detail: 'AMD 0x73bf' },
      { name: 'Vulkan', status: 'problem', advice: expect.stringContaining('driver') },
    ]);
  });

  test('an NVIDIA GPU that Vulkan does not see has the command for a CUDA build', async () => {
    const own: Partial<Machine> = { builds: () => ['vulkan'], gpus: () => ['NVIDIA L4'], probe: blind };
    expect((await findings('Graphics cards', own)).at(-1)).toMatchObject({
      name: 'Vulkan',
      status: 'problem',
      advice: expect.stringMatching(/^To use it: parley pack (add|build) cuda/),
    });
  });

  test('a build without GPUs is ok', async () => {
    const own: Partial<Machine> = { builds: () => ['vulkan'], probe: blind };
    expect(await findings('Graphics cards', own)).toMatchObject([{ name: 'Vulkan', status: 'ok' }]);
  });

  test('a build that does not load is a problem with its reason', async () => {
    const own: Partial<Machine> = { builds: () => ['cuda'], probe: failing('llama cuda', 'no driver') };
    expect(await findings('Graphics cards', own)).toMatchObject([
      { name: 'CUDA', status: 'problem', detail: 'cannot be used: no driver' },
    ]);
  });

  test.each([
    ['NVIDIA L4', 'parley pack add cuda'],
    ['AMD 0x73bf', 'on the processor'],
  ])('%s without a build: %s', async (gpu, advice) => {
    const cuda = {
      name: 'cuda',
      brings: 'Speed.',
      licence: 'MIT',
      packages: { 'linux-x64': [{ name: 'c', version: '1', integrity: '', megabytes: 1 }] },
    };
    const found = await findings('Graphics cards', { gpus: () => [gpu], catalogue: [cuda] });
    expect(found.at(-1)).toMatchObject({ status: 'missing', advice: expect.stringContaining(advice) });
  });
});

test('Models: count and size by program, and each damaged one', async () => {
  const model = (program: string, bytes: number) => ({
    type: 'model' as const,
    name: 'm',
    path: '/m',
    program,
    bytes,
    modified: '2026-11-01T00:00:00.000Z',
    parameters: 1,
    architecture: 'llama',
    weights: 'Q8_0',
    context: 1,
    title: undefined,
  });
  const damaged = { type: 'damaged' as const, name: 'd', path: '/d.gguf', program: 'Jan', reason: 'it is cut off' };
  const models = async () => [
    model('Ollama', 2 * gigabyte),
    model('Jan', gigabyte),
    model('Ollama', gigabyte),
    damaged,
  ];
  expect(await findings('Models', { models })).toMatchObject([
    { name: 'Ollama', status: 'ok', detail: '2 models, 3.0 GB' },
    { name: 'Jan', status: 'ok', detail: '1 model, 1.0 GB' },
    { name: 'Jan', status: 'problem', detail: '/d.gguf: it is cut off' },
  ]);
});

test.each([
  [{ exists: true, writable: true, freeBytes: 50 * gigabyte }, 'ok', '/data/parley, 50.0 GB free'],
  [{ exists: false, writable: true, freeBytes: 50 * gigabyte }, 'ok', '(created when it is needed)'],
  [{ exists: true, writable: false, freeBytes: 50 * gigabyte }, 'problem', '/data/parley cannot be written'],
  [{ exists: true, writable: true, freeBytes: 0.2 * gigabyte }, 'problem', '200 MB free'],
])('Folders: %j is %s', async (facts, status, detail) => {
  const [found] = await findings('Folders', { folder: async () => facts });
  expect(found).toMatchObject({ status, detail: expect.stringContaining(detail) });
});

test.each([
  ['free', 'ok'],
  ['parley', 'ok'],
  ['taken', 'problem'],
] as const)('Network: a port that is %s is %s', async (state, status) => {
  const [port] = await findings('Network', { port: 5002, portState: async () => state });
  expect(port).toMatchObject({ name: 'Port 5002', status });
});

describe('reportLines', () => {
  test('one line per finding below its section, the advice below it, and a verdict', async () => {
    const lines = reportLines({
      product: { name: 'Parley', version: '1' },
      canServe: false,
      findings: [
        { section: 'Program', name: 'Node', status: 'ok', detail: '24' },
        { section: 'Engines', name: 'Text', status: 'problem', detail: 'gone', advice: 'Get it.', needed: true },
      ],
    });
    expect(lines.join('\n')).toBe(`Program
  ok       Node  24

Engines
  problem  Text  gone
                 Get it.

Parley cannot serve until this is corrected: Text (Engines).`);
  });
});

describe('parley doctor', () => {
  async function run(args: readonly string[], own: Partial<Machine> = {}) {
    let output = '';
    const write = (text: string): void => {
      output += text;
    };
    const terminal = { line: (text = '') => write(`${text}\n`) };
    const code = await doctorCommand({ args, terminal, machine: () => machine(own) });
    return { code, output };
  }

  test('exits with 0 if Parley can serve, and with 1 if not', async () => {
    expect(await run([])).toMatchObject({ code: 0, output: expect.stringContaining('Parley can serve.\n') });
    expect((await run([], { versionOf: () => undefined })).code).toBe(1);
  });

  test('--json: the same findings', async () => {
    const { code, output } = await run(['--json']);
    expect(code).toBe(0);
    const report = JSON.parse(output);
    expect(report).toMatchObject({ product: { version: '1.2.3', commit: '1a2b3c' }, canServe: true });
    expect(report.findings).toEqual((await examine(machine())).findings);
  });

  test('--help shows the usage, and an unknown option is named', async () => {
    expect(await run(['--help'])).toMatchObject({ code: 0, output: expect.stringMatching(/^parley doctor {2}/) });
    const unknown = expect.stringMatching(/^--nonsense is not an option here\.\n\nparley doctor {2}/);
    expect(await run(['--nonsense'])).toMatchObject({ code: 2, output: unknown });
  });

  test.each([['help'], ['--json', 'x']])('%j %j fails with the usage', async (...words) => {
    expect(await run(words)).toMatchObject({ code: 2, output: expect.stringContaining('parley doctor --json') });
  });
});

test('doctor: names the engine programs that are on the path', async () => {
  const [none] = await findings('Engine programs');
  expect(none).toMatchObject({ name: 'None found', status: 'ok' });
  const programPath = ({ program }: { program: string }) =>
    program === 'llama-server' ? '/usr/bin/llama-server' : undefined;
  const found = await findings('Engine programs', { programPath });
  expect(found).toEqual([
    expect.objectContaining({ name: 'llama-server', status: 'ok', detail: '/usr/bin/llama-server' }),
  ]);
});

describe('network', () => {
  test('one network and no firewall need no advice', async () => {
    expect(await findings('Network')).toMatchObject([
      { name: 'Port 5001', status: 'ok' },
      { name: 'Addresses', detail: '192.168.1.5 (eth0)' },
      { name: 'Firewall', detail: 'none was found' },
    ]);
    expect((await findings('Network')).filter(({ advice }) => advice)).toEqual([]);
  });

  test('several network cards and a firewall: what to do where a phone does not reach the server', async () => {
    const [, addresses, firewall] = await findings('Network', {
      addresses: () => [
        { address: '192.168.1.5', interfaceName: 'eth0', kind: 'lan' },
        { address: '10.0.0.7', interfaceName: 'wlan0', kind: 'lan' },
      ],
      firewall: async () => 'ufw',
    });
    expect(addresses).toMatchObject({ status: 'ok', advice: expect.stringContaining('--host ADDRESS') });
    expect(firewall).toMatchObject({
      detail: 'ufw, switched on',
      advice: expect.stringContaining('ufw allow 5001/tcp'),
    });
  });
});
