import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { codeReason } from '../core/network-error.ts';

/** The person's own npm knows the registry, its address and its key. */
export async function findNpmPackage(specifier: string): Promise<{ tarball: string; integrity: string }> {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const options = { shell: process.platform === 'win32', maxBuffer: 2 ** 24 };
  const { stdout } = await promisify(execFile)(npm, ['view', specifier, 'dist', '--json'], options).catch(
    (error: Error & { readonly stderr?: string; readonly code?: unknown }) => {
      throw new Error(whyNot(specifier, error));
    },
  );
  const answer = JSON.parse(stdout || 'null') as unknown;
  const dist = (Array.isArray(answer) ? answer.at(-1) : answer) as { tarball?: string; integrity?: string } | null;
  if (!dist?.tarball || !dist.integrity) throw new Error(`npm does not know ${specifier}`);
  return { tarball: dist.tarball, integrity: dist.integrity };
}

/** A package that is not there is another matter than a machine without a network. */
export function whyNot(specifier: string, { stderr = '', code }: { stderr?: string; code?: unknown }): string {
  if (code === 'ENOENT') return 'npm, which knows where packages are, is not installed here';
  if (/\bE404\b|\bE(?:VERSION|TARGET)\b/.test(stderr)) return `npm does not know ${specifier}`;
  const [network] =
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH)\b/.exec(stderr) ?? [];
  if (network) return `cannot reach the npm registry: ${codeReason(network)}. Check the network connection`;
  return `npm could not say where ${specifier} is`;
}
