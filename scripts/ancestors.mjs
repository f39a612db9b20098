import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const lookEveryMs = 500;

/**
 * Resolves when npm, which started us, is gone. It may have put a shell in between that lives on without it, and npm itself
 * passes on only some signals, and none when it is killed. A parent that is gone shows by another one in its place: its
 * number alone would still be taken until its exit status is read.
 */
export function whenAncestorsGo(startedByNpm) {
  return new Promise((resolve) => {
    if (!startedByNpm || process.platform === 'win32') return;
    const parent = process.ppid;
    const shell = isShell(parent) ? { grandparent: parentOf(parent) } : undefined;
    const timer = setInterval(() => {
      const same = process.ppid === parent && (!shell || parentOf(parent) === shell.grandparent);
      if (same) return;
      clearInterval(timer);
      resolve();
    }, lookEveryMs);
    timer.unref();
  });
}

function isShell(pid) {
  return /^-?(sh|dash|bash|ash|zsh|ksh|busybox)$/.test(nameOf(pid));
}

/** Linux tells it in a file; elsewhere `ps` does. */
function nameOf(pid) {
  const stat = procStat(pid);
  return stat ? stat.name : ps('comm', pid).replace(/^.*\//, '');
}

function parentOf(pid) {
  const stat = procStat(pid);
  return stat ? stat.parent : Number(ps('ppid', pid)) || undefined;
}

function procStat(pid) {
  try {
    const [, name, parent] = /^\d+ \((.*)\) \S+ (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return { name, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function ps(field, pid) {
  if (process.platform === 'linux') return '';
  return (spawnSync('ps', ['-o', `${field}=`, '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '').trim();
}
