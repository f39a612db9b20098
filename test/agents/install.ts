import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { agents } from '../../src/agents/catalogue.ts';

const system = process.platform === 'win32' ? 'windows' : process.platform;

/** The packages of each agent in the version of the table. The wrapper of opencode does nothing but choose this package. */
const packages = {
  claude: '@anthropic-ai/claude-code',
  codex: '@openai/codex',
  opencode: `opencode-${system}-${process.arch}`,
  qwen: '@qwen-code/qwen-code',
};

export type InstalledAgent = keyof typeof packages;

/** Outside of the repository, because they are large: a gigabyte. `PARLEY_TEST_AGENTS` names another folder. */
const folder = process.env.PARLEY_TEST_AGENTS ?? join(homedir(), '.cache', 'parley-test-agents');

/** Installs what is missing. Returns a path on which the agents are found. */
export function installAgents(): string {
  const packageSpecs = Object.entries(packages).map(([name, id]) => `${id}@${agents[name]?.tested}`);
  const done = join(folder, `${packageSpecs.join(' ').replaceAll(/[^\w.-]+/g, '_')}.done`);
  if (!existsSync(done)) {
    mkdirSync(folder, { recursive: true });
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
    const flags = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund'];
    execFileSync(npm, [...flags, ...packageSpecs], { stdio: 'inherit', shell: process.platform === 'win32' });
    writeFileSync(done, '');
  }
  const modules = join(folder, 'node_modules');
  return [join(modules, '.bin'), join(modules, packages.opencode, 'bin')].join(delimiter);
}
