import type { LoadOptions } from '../../load-options.ts';

const withoutAvx = ['sse42', 'x64'];
const withoutAvx2 = ['sandybridge', 'ivybridge', 'piledriver', ...withoutAvx];

/**
 * The CPU builds to try, best first, of those that this processor says it can run. Some virtual machines advertise
 * instructions (AMX above all) that kill the process when used; whoever starts us passes over the builds that died.
 */
export function cpuBuilds(
  runnable: readonly string[],
  { cpuLevel, cpuBuild }: Pick<LoadOptions, 'cpuLevel' | 'cpuBuild'>,
): readonly string[] {
  if (cpuBuild !== undefined) {
    const place = runnable.indexOf(cpuBuild);
    if (place === -1) {
      const names = runnable.length > 0 ? `one of ${runnable.join(', ')}` : 'none: there is one build only';
      throw new Error(`this machine has no CPU build "${cpuBuild}" (--cpubuild takes ${names})`);
    }
    return runnable.slice(place);
  }
  if (cpuLevel === 'no-avx') return runnable.filter((build) => withoutAvx.includes(build));
  if (cpuLevel === 'no-avx2') return runnable.filter((build) => withoutAvx2.includes(build));
  return runnable;
}
