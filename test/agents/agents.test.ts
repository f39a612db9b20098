import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { agents } from '../../src/agents/catalogue.ts';
import { embeddedModel, program } from '../live/server.ts';
import { type InstalledAgent, installAgents } from './install.ts';
import { recorder } from './record.ts';
import { type Script, scriptedServer, toolCall } from './scripted-server.ts';

// Real agents, started by `parley launch` against a server whose replies are scripted.

let path = '';
beforeAll(() => {
  path = [installAgents(), process.env.PATH].join(delimiter);
});

const root = realpathSync(mkdtempSync(join(tmpdir(), 'parley-agents-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let server: Awaited<ReturnType<typeof scriptedServer>> | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** How each agent is asked one question without a terminal, and how its tools run a command. */
const invocations: Readonly<
  Record<InstalledAgent, { ask: (question: string) => string[]; run: (command: string) => string }>
> = {
  claude: {
    ask: (question) => ['-p', question, '--allowedTools', 'Bash'],
    run: (command) => toolCall('Bash', { command, description: 'runs it' }),
  },
  codex: {
    ask: (question) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', question],
    run: (cmd) => toolCall('exec_command', { cmd }),
  },
  opencode: {
    ask: (question) => ['run', question],
    run: (command) => toolCall('bash', { command, description: 'runs it' }),
  },
  qwen: {
    ask: (question) => ['--approval-mode', 'yolo', question],
    run: (command) => toolCall('run_shell_command', { command, is_background: false, description: 'runs it' }),
  },
};
/** The words with which each agent asks for a summary. */
const compactions =
  /CRITICAL: Respond with TEXT ONLY|CONTEXT CHECKPOINT COMPACTION|context summarization agent|<state_snapshot>/;
const isCompaction = (prompt: string) => compactions.test(prompt);

const names = Object.keys(invocations) as InstalledAgent[];

/** A home folder and a project for one run. */
function person() {
  const home = mkdtempSync(join(root, 'home-'));
  for (const [file, text] of Object.entries(settings)) {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), text);
  }
  const project = mkdtempSync(join(root, 'project-'));
  const temporary = mkdtempSync(join(root, 'temporary-'));
  const run = async (file: string, args: readonly string[]) => {
    const environment = {
      PATH: path,
      HOME: home,
      USERPROFILE: home,
      PARLEY_HOME: join(root, 'parley'),
      TERM: 'dumb',
      TMPDIR: temporary,
    };
    const child = spawn(file, args, { cwd: project, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    const code = await new Promise((resolve) => child.on('close', resolve));
    return { code, output };
  };
  const launch = (args: readonly string[]) => run(process.execPath, [program, 'launch', ...args]);
  return { home, project, temporary, launch, run };
}

/** Settings that a person has of each agent, as the agent itself would write them. */
const settings = {
  '.claude/settings.json': '{"theme": "dark"}',
  '.codex/config.toml': 'model = "own" # mine\n',
  '.config/opencode/opencode.json': '{\n  "$schema": "https://opencode.ai/config.json",\n  "theme": "own"\n}\n',
  '.qwen/settings.json': '{\n  "general": {\n    "vimMode": false\n  },\n  "$version": 4\n}',
};

interface Question {
  readonly script: Script;
  readonly contextSize?: number;
  /** The file `letters.txt` of the project. */
  readonly letters?: string;
  /** Name of the recording. */
  readonly recorded?: string;
}

async function ask(name: InstalledAgent, { script, contextSize = 65_536, letters = '', recorded }: Question) {
  server = await scriptedServer(script, contextSize);
  const { launch, home, project, temporary } = person();
  writeFileSync(join(project, 'letters.txt'), letters);
  const { prompts, errors } = server;
  const own = [
    [project, '/project'],
    [home, '/home/ann'],
  ] as const;
  const proxy = recorded && process.env.PARLEY_TEST_RECORD ? await recorder(server.port, own) : undefined;
  const port = proxy?.port ?? server.port;
  const result = await launch([name, '--port', String(port), '--', ...invocations[name].ask('Read the letters.')]);
  if (recorded) proxy?.write(recorded);
  await proxy?.close();
  expect(errors).toEqual([]);
  return { ...result, home, temporary, prompts, port };
}

const summary = '<analysis>-</analysis>\n<summary>SUMMARY-OF-WORK letters were read.</summary>';
const isSummarised = (prompt: string) => prompt.includes('SUMMARY-OF-WORK');

describe.each(names)('%s', (name) => {
  test('calls a tool and reads its result; no settings change, and no address stays', async () => {
    const { code, output, prompts, home, temporary, port } = await ask(name, {
      script: (prompt) =>
        prompt.includes('the answer is 42') ? 'Forty-two.' : invocations[name].run('echo the answer is $((6 * 7))'),
    });
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('Forty-two.') });
    expect(prompts.some((prompt) => prompt.includes('Read the letters.'))).toBe(true);
    for (const [file, text] of Object.entries(settings)) expect(readFileSync(join(home, file), 'utf8')).toBe(text);
    expect(filesWith(`127.0.0.1:${port}`, home)).toEqual([]);
    expect(readdirSync(temporary).filter((file) => file.startsWith('parley-agent-'))).toEqual([]);
  });

  test('summarises a long session by the usage that it was told, and goes on', async () => {
    let calls = 0;
    const { code, output, prompts } = await ask(name, {
      contextSize: 20_000,
      letters: 'a b c d e f g h i j k l m n o p q r s t\n'.repeat(350),
      recorded: name,
      script: (prompt) => {
        if (isCompaction(prompt)) return summary;
        if (isSummarised(prompt)) return 'All letters are read.';
        calls += 1;
        return calls > 8 ? 'Gave up.' : invocations[name].run(`cat letters.txt; echo ${calls}`);
      },
    });
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('All letters are read.') });
    // The server tries the request of Codex with its tools first, to use the cached prompt.
    expect([1, 2]).toContain(prompts.filter(isCompaction).length);
  });

  // Codex goes by its usage only: it shows the error and ends.
  test.skipIf(name === 'codex')('summarises when a prompt is refused as too long, and goes on', async () => {
    const { output } = await ask(name, {
      script: (prompt) => {
        if (isCompaction(prompt)) return summary;
        if (isSummarised(prompt)) return 'All letters are read.';
        if (!prompt.includes('first letters')) return invocations[name].run('echo first letters');
        if (!prompt.includes('second letters')) return invocations[name].run('echo second letters');
        return undefined;
      },
    });
    // opencode ends with 1 after an error that it has recovered from.
    expect(output).toContain('All letters are read.');
  });

  test('uses the server by itself after --config, and --restore puts its settings back', async () => {
    server = await scriptedServer(() => 'Here I am.', 65_536);
    const { launch, run, home } = person();
    const config = await launch([name, '--config', '--port', String(server.port)]);
    expect(config).toEqual({ code: 0, output: expect.stringContaining('The backup is') });
    const { code, output } = await run(name, invocations[name].ask('Where are you?'));
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('Here I am.') });
    expect((await launch([name, '--restore'])).code).toBe(0);
    for (const [file, text] of Object.entries(settings)) expect(readFileSync(join(home, file), 'utf8')).toBe(text);
  });

  test('starts on a server of its own, which ends with it', async () => {
    const { launch } = person();
    const { code, output } = await launch([
      name,
      '--model',
      embeddedModel,
      '--contextsize',
      '32768',
      '--',
      '--version',
    ]);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining(agents[name]?.tested ?? '') });
    const url = /Please connect to custom endpoint at (\S+)/.exec(output)?.[1] ?? '';
    await expect(fetch(`${url}/api/extra/version`)).rejects.toThrow('fetch failed');
  });
});

test('codex: a prompt that is refused as too long ends the turn with an error', async () => {
  const { code, output } = await ask('codex', { script: () => undefined });
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining('context_length_exceeded') });
});

function filesWith(text: string, folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  return paths.filter((file) => readFileSync(file).includes(text));
}
