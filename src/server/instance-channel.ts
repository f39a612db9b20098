import { lstat, mkdir, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { ownFolder, type SystemFolders, thisSystem } from '../core/data-folder.ts';
import { isObject, tryParseJson } from '../core/json.ts';

// With --singleinstance a newer instance asks the older one to stop over a socket that only processes of this account can
// open. So it sends no password to a program that merely listens on the port.

/** macOS allows 103 bytes, Linux 107. */
const maxPathBytes = 100;
const timeoutMs = 5000;
const request = 'stop\n';

/** A socket in a folder of the account; on Windows a named pipe. */
export function channelPath(port: number, system: SystemFolders = thisSystem(), temporary = tmpdir()): string {
  const { username, uid } = userInfo();
  if (system.platform === 'win32') return `\\\\.\\pipe\\parley-${encodeURIComponent(username)}-${port}`;
  const path = join(ownFolder('cache', system), 'instances', `${port}.sock`);
  return Buffer.byteLength(path) <= maxPathBytes ? path : join(temporary, `parley-${uid}`, `${port}.sock`);
}

/** To be called when the port is open: a socket at the path was left by an earlier process with this port. */
export async function openChannel(path: string, stop: () => void): Promise<Server> {
  if (process.platform !== 'win32') {
    await makePrivate(dirname(path));
    await rm(path, { force: true });
  }
  const server = createServer((socket) => {
    socket.setEncoding('utf8').setTimeout(timeoutMs, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.once('data', (text) => {
      if (String(text) === request) socket.end(JSON.stringify({ pid: process.pid }), stop);
      else socket.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
  return server.unref();
}

/** In the folder for temporary files others may have made it first, to stop this server through the socket. */
async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(folder);
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0)
    throw new Error(`the folder ${folder} is open to other accounts; delete it, or allow only your own`);
}

/** Asks the instance at the path to stop; its process id, or undefined if there is none. */
export function stopInstance(path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    let reply = '';
    const socket = createConnection(path, () => socket.write(request));
    socket.setEncoding('utf8').setTimeout(timeoutMs, () => socket.destroy());
    socket.on('data', (text) => {
      reply += String(text);
      if (reply.length > 1000) socket.destroy();
    });
    // "close" follows.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const answer = tryParseJson(reply);
      const pid = isObject(answer) ? Number(answer.pid) : Number.NaN;
      resolve(Number.isInteger(pid) && pid > 0 ? pid : undefined);
    });
  });
}
