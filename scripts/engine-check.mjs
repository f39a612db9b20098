import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './set-up.mjs';

// Compares what the worker declares of llama.cpp by hand with the headers of the source that the engine packages were built from:
// of the pinned version, or of the one that is named. `--source FOLDER` takes a source that is already there, `--write` writes the
// facts that the tests compare with. docs/contributing.md says how to move to another version.
const { importModule } = await import('./bundle.mjs');
const { readHeaders } = await importModule('scripts/engine-check/headers.ts');
const { ownDeclarations } = await importModule('scripts/engine-check/declarations.ts');
const { differences, probeProgram, usedFacts } = await importModule('scripts/engine-check/compare.ts');
const { predictionDifferences } = await importModule('scripts/engine-check/prediction.ts');
const { isSupportedArchitecture } = await importModule('src/gguf/architectures.ts');

const argv = process.argv.slice(2);
const option = (name) => (argv.includes(name) ? argv[argv.indexOf(name) + 1] : undefined);
const { optionalDependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
const packages = Object.keys(optionalDependencies).filter((name) => name.startsWith('@node-llama-cpp/'));
const pinned = optionalDependencies[packages[0]];
const version = argv.find((arg, index) => /^\d/.test(arg) && argv[index - 1] !== '--source') ?? pinned;
let failed = false;

function run(command, args, options = {}) {
  return spawnSync(command, args, { encoding: 'utf8', shell: process.platform === 'win32', ...options });
}

function report(title, lines, isProblem = true) {
  console.log(`\n== ${title}`);
  for (const line of lines.length > 0 ? lines : ['Nothing.']) console.log(line);
  if (isProblem && lines.length > 0) failed = true;
}

/** The source inside the npm package of that version, which is downloaded once. */
function sourceFolder() {
  const folder = fileURLToPath(new URL(`.cache/engine-source/${version}/`, root));
  const source = join(folder, 'llama.cpp');
  if (existsSync(join(source, 'include/llama.h'))) return source;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [command, ...args] of [
    ['npm', 'pack', '--silent', `node-llama-cpp@${version}`],
    ['tar', '-xzf', `node-llama-cpp-${version}.tgz`, 'package/llama/gitRelease.bundle'],
    ['git', '-c', 'advice.detachedHead=false', 'clone', '--quiet', 'package/llama/gitRelease.bundle', 'llama.cpp'],
  ]) {
    const { status, stderr, error } = run(command, args, { cwd: folder });
    if (status !== 0) {
      console.error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr.trim()}`);
      process.exit(1);
    }
  }
  return source;
}

function missingPackages() {
  const isThere = (name) =>
    run('npm', ['view', `${name}@${version}`, 'version', '--silent']).stdout?.trim() === version;
  return packages.filter((name) => !isThere(name)).map((name) => `${name}@${version} is not published.`);
}

function compilerComplaints(source, facts) {
  if (run('cc', ['--version']).status !== 0)
    return { title: 'Compiled probe: skipped, there is no C compiler (cc)', lines: [] };
  const folder = fileURLToPath(new URL('.cache/engine-source/', root));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'probe.c');
  writeFileSync(file, probeProgram(['llama.h', 'ggml.h'], facts));
  const includes = ['include', 'ggml/include'].map((name) => `-I${join(source, name)}`);
  const { stderr } = run('cc', ['-std=c11', '-fsyntax-only', ...includes, file]);
  const lines = stderr.split('\n').filter((line) => /error/.test(line));
  return { title: 'Layouts that a compiler computes in another way', lines };
}

const source = option('--source') ?? sourceFolder();
const read = (name) => readFileSync(join(source, name), 'utf8');
const headers = ['ggml.h', 'ggml-backend.h', 'ggml-cpu.h'].map((name) => read(`ggml/include/${name}`));
// Multi-token prediction is not part of the stable API.
const facts = readHeaders([...headers, read('include/llama.h'), read('src/llama-ext.h')]);
const own = ownDeclarations(root);
const used = usedFacts(facts, own);
const counts = [own.functions, own.structs, own.constants].map((group) => Object.keys(group).length);
console.log(`llama.cpp of node-llama-cpp ${version}${version === pinned ? '' : ` (pinned: ${pinned})`}:`);
console.log(
  `${counts[0]} functions, ${counts[1]} structs and ${counts[2]} values of enumerations are declared by hand.`,
);

report('Packages that are missing for one of the systems', missingPackages());
report('Declarations that do not match the headers', differences(own, facts));
const probe = compilerComplaints(source, used);
report(probe.title, probe.lines);

const folder = existsSync(join(source, 'src/llama-arch.cpp')) ? read('src/llama-arch.cpp') : '';
const architectures = [...folder.matchAll(/\{\s*LLM_ARCH_\w+,\s*"([^"]+)"\s*\}/g)].map(([, name]) => name);
const unknown = architectures.filter((name) => name !== '(unknown)' && !isSupportedArchitecture(name));
report(
  'Architectures of this version that src/gguf/architectures.ts does not have',
  [unknown.join(' ')].filter(Boolean),
  false,
);

const modelFiles = readdirSync(join(source, 'src/models')).filter((name) => name.endsWith('.cpp'));
report(
  'Architectures whose layers for multi-token prediction are used in another way (predictionArchitectures)',
  predictionDifferences({
    names: folder,
    classes: read('src/llama-model.cpp'),
    models: modelFiles.map((name) => read(`src/models/${name}`)),
  }),
  false,
);

const factsFile = new URL('scripts/engine-check/facts.json', root);
const text = `${JSON.stringify(used, undefined, 2)}\n`;
if (argv.includes('--write')) {
  writeFileSync(factsFile, text);
  console.log('\nWritten: scripts/engine-check/facts.json');
} else if (version === pinned) {
  const same =
    existsSync(factsFile) && JSON.stringify(JSON.parse(readFileSync(factsFile, 'utf8'))) === JSON.stringify(used);
  report(
    'Differences from the facts of the tests',
    same ? [] : ['scripts/engine-check/facts.json is another one: run with --write.'],
  );
}
console.log(failed ? '\nThe version does not fit.' : '\nThe version fits.');
process.exit(failed ? 1 : 0);
