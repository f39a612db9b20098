import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { npmEnvironment } from '../npm-environment.ts';
import { type BareRoot, downloads, type Inside, type MakeBareRoot } from './bare-root.ts';
import { dockerIgnores, readDockerfile, readWords, type Stage, type Step } from './dockerfile.ts';

const execute = promisify(execFile);

/** What an image is: files, and how a container of it runs. */
export interface Image {
  readonly root: BareRoot;
  readonly inside: Inside;
  readonly volumes: readonly string[];
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

/** Makes an image as `docker build` does: the last stage of the Dockerfile of a folder, and those that it is made from. */
export async function buildImage(project: string, makeRoot: MakeBareRoot): Promise<Image> {
  const stages = readDockerfile(readFileSync(join(project, 'Dockerfile'), 'utf8'));
  const network = await buildNetwork();
  const built = new Map<string, Promise<Image>>();
  const imageOf = (name: string): Promise<Image> => {
    const stage = stages.find((each) => each.name === name);
    const image = built.get(name) ?? (stage ? buildStage(stage) : nodeImage(name, makeRoot));
    // An image of others is made anew for each stage; a stage of ours is continued by one other at most.
    if (stage) built.set(name, image);
    return image;
  };
  const buildStage = async ({ base, steps }: Stage): Promise<Image> => {
    let image = await imageOf(base);
    for (const step of steps) image = await take(step, image);
    return image;
  };
  const take = async ({ instruction, options, text }: Step, image: Image): Promise<Image> => {
    const { root, inside } = image;
    const within = (change: Partial<Inside>): Image => ({ ...image, inside: { ...inside, ...change } });
    switch (instruction) {
      case 'COPY': {
        const [from = '', to = ''] = text.split(/\s+/);
        const target = join(root.path, to.startsWith('/') ? to : join(inside.folder ?? '/', to));
        if (options.from === undefined) copyContext(project, from, target);
        else await execute('cp', ['-aT', join((await imageOf(options.from)).root.path, from), target]);
        return image;
      }
      case 'RUN': {
        const environment = { ...inside.environment, ...network.environment };
        await root.run(['sh', '-c', text], { ...inside, environment, mounts: network.mounts });
        return image;
      }
      case 'ENV': {
        const pairs = text.split(/\s+/).map((pair) => pair.split('=') as [string, string]);
        return within({ environment: { ...inside.environment, ...Object.fromEntries(pairs) } });
      }
      case 'WORKDIR':
        mkdirSync(join(root.path, text), { recursive: true });
        return within({ folder: text });
      case 'USER':
        return within(userOf(root, text, inside));
      case 'VOLUME':
        return { ...image, volumes: readWords(text) };
      case 'ENTRYPOINT':
        return { ...image, command: readWords(text) };
      case 'HEALTHCHECK':
        return { ...image, healthCheck: readWords(text) };
      case 'EXPOSE':
        return image;
      default:
        throw new Error(`no test knows how to take the step ${instruction}`);
    }
  };
  const last = stages.at(-1);
  if (!last) throw new Error('the Dockerfile is empty');
  return buildStage(last);
}

/** Node's image for Docker: Debian, Node and npm in /usr/local, and a user named node. The parts come from npm. */
async function nodeImage(name: string, makeRoot: MakeBareRoot): Promise<Image> {
  const [, version, suite] = /^node:(\d+)-(\w+)-slim$/.exec(name) ?? [];
  if (version === undefined || suite === undefined) throw new Error(`no test knows how to make the image ${name}`);
  const root = await makeRoot(suite);
  const local = join(root.path, 'usr/local');
  await unpack(`node-linux-${process.arch}@${version}`, local, 'package/bin');
  const npm = join(local, 'lib/node_modules/npm');
  await unpack('npm@10', npm, 'package');
  for (const tool of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${tool}-cli.js`, join(local, 'bin', tool));
  await root.run(['/usr/sbin/useradd', '--uid', '1000', '--create-home', '--shell', '/bin/bash', 'node']);
  const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' };
  return { root, inside: { environment }, volumes: [], command: [], healthCheck: [] };
}

/** Downloads a package of npm unless it is there, and unpacks it, or a folder of it. */
async function unpack(specifier: string, target: string, part: string): Promise<void> {
  const folder = join(downloads, specifier);
  if (!existsSync(folder))
    await execute('npm', ['pack', '--pack-destination', newFolder(folder), specifier], { env: npmEnvironment });
  const [archive = ''] = readdirSync(folder);
  // A folder of the package keeps its own name.
  const strip = String(part.split('/').length - (part === 'package' ? 0 : 1));
  const args = [
    '-xzf',
    join(folder, archive),
    '-C',
    newFolder(target),
    '--no-same-owner',
    `--strip-components=${strip}`,
  ];
  await execute('tar', [...args, part]);
}

function newFolder(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}

/** What RUN needs of this machine to reach the registry, and the cache of npm. */
async function buildNetwork(): Promise<Required<Pick<Inside, 'environment' | 'mounts'>>> {
  const setting = async (name: string) => (await execute('npm', ['config', 'get', name])).stdout.trim();
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  const files = ['/etc/resolv.conf', '/etc/hosts', certificates].filter((path) => existsSync(path));
  return {
    environment: {
      npm_config_registry: await setting('registry'),
      npm_config_cache: '/tmp/npm-cache',
      ...(existsSync(certificates) && { NODE_EXTRA_CA_CERTS: certificates }),
    },
    mounts: {
      ...Object.fromEntries(files.map((path) => [path, path])),
      '/tmp/npm-cache': await setting('cache'),
    },
  };
}

function copyContext(project: string, from: string, target: string): void {
  const ignores = dockerIgnores(readFileSync(join(project, '.dockerignore'), 'utf8'));
  cpSync(join(project, from), target, {
    recursive: true,
    filter: (path) => !ignores(path.slice(project.length).replace(/^\/+/, '')),
  });
}

function userOf(root: BareRoot, name: string, { environment }: Inside): Partial<Inside> {
  const lines = readFileSync(join(root.path, 'etc/passwd'), 'utf8').split('\n');
  const [, , user, group, , home] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
  if (!user || !group || !home) throw new Error(`the image has no user ${name}`);
  return { user: `${user}:${group}`, environment: { ...environment, HOME: home } };
}
