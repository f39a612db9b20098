import { afterEach, beforeEach, expect, test, vi } from 'vitest';

/** Without the Svelte compiler, a rune returns its argument. */
const rune = Object.assign((value: unknown) => value, { raw: (value: unknown) => value });
vi.stubGlobal('$state', rune);
const { Launcher } = await import('./launch.svelte.ts');

type Answers = Readonly<Record<string, (body: unknown) => unknown>>;

function world(answers: Answers) {
  const asked: { readonly name: string; readonly body: unknown }[] = [];
  vi.stubGlobal('location', { href: 'http://localhost:4711/' });
  vi.stubGlobal('fetch', async (address: string, init: { body?: string } = {}) => {
    const name = new URL(address).pathname.replace('/launcher/', '');
    const body = init.body === undefined ? undefined : JSON.parse(init.body);
    asked.push({ name, body });
    const answer = answers[name]?.(body) ?? { problems: [`no ${name}`] };
    if (answer instanceof ReadableStream) return new Response(answer);
    const status = typeof answer === 'object' && 'problems' in answer && name !== 'check' ? 400 : 200;
    return new Response(JSON.stringify(answer), { status });
  });
  return { launcher: new Launcher(), asked };
}

beforeEach(() => vi.stubGlobal('$state', rune));
afterEach(() => vi.unstubAllGlobals());

const form = {
  values: { port: 5001, multiuser: 10 },
  programs: [],
  notes: ['a note'],
  state: { type: 'idle' },
  fields: { port: { key: 'port' } },
};

function talking(...events: readonly object[]): ReadableStream {
  return new ReadableStream({
    start: (controller) => {
      for (const event of events) controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
    },
  });
}

test('Launcher: begins with the settings and follows the console', async () => {
  const { launcher } = world({
    form: () => form,
    console: () =>
      talking(
        { type: 'line', text: 'old' },
        { type: 'clear' },
        { type: 'state', state: { type: 'running', address: 'http://localhost:5001' } },
        { type: 'line', text: 'hello' },
      ),
  });
  await launcher.begin();
  expect(launcher.values).toEqual(form.values);
  expect(launcher.notes).toEqual(['a note']);
  expect(launcher.field('port')).toEqual({ key: 'port' });
  expect(launcher.field('other')).toBeUndefined();
  await expect.poll(() => launcher.lines).toEqual(['hello']);
  expect(launcher.busy).toBe(true);
  launcher.gone = true;
});

test('Launcher: shows why the launcher rejects the browser', async () => {
  const { launcher } = world({ form: () => ({ problems: ['Authentication key is missing or invalid.'] }) });
  await launcher.begin();
  expect(launcher.form).toBeUndefined();
  expect(launcher.problems).toEqual(['Authentication key is missing or invalid.']);
});

test('Launcher: launch sends the current settings and shows problems', async () => {
  let answer: object = { notes: ['rounded'] };
  const { launcher, asked } = world({ launch: () => answer });
  launcher.values = { port: 5005 };
  expect(await launcher.launch()).toBe(true);
  expect(asked).toEqual([{ name: 'launch', body: { values: { port: 5005 } } }]);
  expect(launcher.notes).toEqual(['rounded']);
  answer = { problems: ['Port needs a whole number.'] };
  expect(await launcher.launch()).toBe(false);
  expect(launcher.problems).toEqual(['Port needs a whole number.']);
});

test('Launcher: check returns problems and the command line', async () => {
  const { launcher } = world({ check: () => ({ problems: ['no'], notes: [], command: ['--port', '1'] }) });
  await launcher.check();
  expect(launcher.problems).toEqual(['no']);
  expect(launcher.command).toEqual(['--port', '1']);
});

test('Launcher: load replaces all settings, or none if the config is broken', async () => {
  let answer: object = { values: { port: 7 }, programs: [], notes: ['old key'] };
  const { launcher } = world({ load: () => answer });
  launcher.values = { port: 1, quiet: true };
  await launcher.load('/a.kcpps');
  expect(launcher.values).toEqual({ port: 7 });
  answer = { problems: ['The config file cannot be read.'] };
  await launcher.load('/b.kcpps');
  expect(launcher.values).toEqual({ port: 7 });
  expect(launcher.problems).toEqual(['The config file cannot be read.']);
});

test('Launcher: programs of a config are settings only once they are allowed', async () => {
  const programs = ['{"name":"mine","command":"x --port ${port}"}'];
  const { launcher, asked } = world({
    load: () => ({ values: { engine: null }, programs, notes: [] }),
    launch: () => ({ notes: [] }),
  });
  await launcher.load('/a.kcpps');
  expect(launcher.programs).toEqual(programs);
  await launcher.launch();
  launcher.decide(false);
  expect([launcher.programs, launcher.values]).toEqual([[], { engine: null }]);
  await launcher.load('/a.kcpps');
  launcher.decide(true);
  expect(launcher.programs).toEqual([]);
  await launcher.launch();
  const launches = asked.filter(({ name }) => name === 'launch').map(({ body }) => body);
  expect(launches).toEqual([{ values: { engine: null } }, { values: { engine: programs } }]);
});

test('stopping and quitting are asked for, and a launcher that is gone is no problem', async () => {
  const { launcher, asked } = world({ stop: () => ({ ok: true }), quit: () => ({ problems: ['gone'] }) });
  await launcher.stop();
  await launcher.quit();
  expect(asked.map(({ name }) => name)).toEqual(['stop', 'quit']);
  expect(launcher.gone).toBe(true);
});
