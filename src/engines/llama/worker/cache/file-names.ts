/** Who writes files: this process, and others that may share the folder. */
export interface Processes {
  readonly own: number;
  readonly alive: (id: number) => boolean;
}

const ending = '.parley-cache';
/** A number that was given again to some other process would keep a part for ever. */
const longestWriteMs = 24 * 60 * 60 * 1000;

export const snapshotName = (sum: string): string => `${sum.slice(0, 32)}${ending}`;
export const partName = (name: string, process: number): string => `${name}.${process}.part`;

/** Only names that we give: whatever else lies in the folder is somebody's. */
export const isSnapshotName = (name: string): boolean => /^[0-9a-f]{32}\.parley-cache$/.test(name);
export const isPartName = (name: string): boolean => /^([0-9a-f]{32}\.parley-cache|trial)(\.\d+)?\.part$/.test(name);

/** Whether a part was left by a process that ended while it wrote. Nothing of ours is being written yet. */
export function isLeftOver(name: string, ageMs: number, { own, alive }: Processes): boolean {
  const process = /\.(?<process>\d+)\.part$/.exec(name)?.groups?.process;
  if (ageMs > longestWriteMs) return true;
  return process !== undefined && (Number(process) === own || !alive(Number(process)));
}

/** A process of another user refuses the signal, and lives. */
export function isAlive(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
