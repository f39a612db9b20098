import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';

export type Firewall = 'ufw' | 'firewalld' | 'Windows' | 'macOS';

interface FirewallSystem {
  readonly platform: NodeJS.Platform;
  /** Content of a file; empty if it cannot be read. */
  readonly read: (path: string) => Promise<string>;
  readonly exists: (path: string) => Promise<boolean>;
  /** What a program prints; empty if it cannot be run. */
  readonly run: (program: string, args: readonly string[]) => Promise<string>;
}

/** Files that are there while firewalld runs, with and without systemd. */
const firewalldFiles = ['/sys/fs/cgroup/system.slice/firewalld.service', '/run/firewalld.pid'];
const windowsRules =
  'HKLM\\SYSTEM\\CurrentControlSet\\Services\\SharedAccess\\Parameters\\FirewallPolicy\\StandardProfile';
const macProgram = '/usr/libexec/ApplicationFirewall/socketfilterfw';

/** The firewall that is switched on, as far as an account without special rights can see; its rules it cannot. */
export async function activeFirewall(system: FirewallSystem = ownSystem): Promise<Firewall | undefined> {
  const { platform, read, exists, run } = system;
  if (platform === 'linux') {
    if (/^ENABLED=["']?yes/im.test(await read('/etc/ufw/ufw.conf'))) return 'ufw';
    return (await Promise.all(firewalldFiles.map(exists))).includes(true) ? 'firewalld' : undefined;
  }
  if (platform === 'win32') {
    const output = await run('reg', ['query', windowsRules, '/v', 'EnableFirewall']);
    return /EnableFirewall\s+REG_DWORD\s+0x1\b/.test(output) ? 'Windows' : undefined;
  }
  if (platform !== 'darwin') return undefined;
  return /State = [12]/.test(await run(macProgram, ['--getglobalstate'])) ? 'macOS' : undefined;
}

/** How other devices are let in: the port of the server, and multicast DNS for its names. */
export const openingOf = (firewall: Firewall, port: number): string => openings[firewall](port);

const openings: Readonly<Record<Firewall, (port: number) => string>> = {
  ufw: (port) => `sudo ufw allow ${port}/tcp && sudo ufw allow 5353/udp`,
  firewalld: (port) =>
    `sudo firewall-cmd --permanent --add-port=${port}/tcp --add-service=mdns && sudo firewall-cmd --reload`,
  Windows: () =>
    'Windows Security > Firewall & network protection > Allow an app through firewall: Node.js, in private networks',
  macOS: () => 'System Settings > Network > Firewall > Options: allow incoming connections for node',
};

const ownSystem: FirewallSystem = {
  platform: process.platform,
  read: (path) => readFile(path, 'utf8').catch(() => ''),
  exists: async (path) => (await stat(path).catch(() => undefined)) !== undefined,
  run: (program, args) =>
    new Promise((resolve) => {
      execFile(program, [...args], { timeout: 2000, windowsHide: true }, (error, output) =>
        resolve(error ? '' : output),
      );
    }),
};
