import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';

export type Firewall = 'ufw' | 'firewalld' | 'Windows' | 'macOS';

interface FirewallParts {
  readonly platform: NodeJS.Platform;
  /** Content of a file; empty if it cannot be read. */
  readonly read: (path: string) => Promise<string>;
  readonly exists: (path: string) => Promise<boolean>;
  /** What a program prints; empty if it cannot be run. */
  readonly run: (program: string, words: readonly string[]) => Promise<string>;
}

/** Files that are there while firewalld runs, with and without systemd. */
const firewalldFiles = ['/sys/fs/cgroup/system.slice/firewalld.service', '/run/firewalld.pid'];
const windowsRules =
  'HKLM\\SYSTEM\\CurrentControlSet\\Services\\SharedAccess\\Parameters\\FirewallPolicy\\StandardProfile';
const macProgram = '/usr/libexec/ApplicationFirewall/socketfilterfw';

/** The firewall that is switched on, as far as an account without special rights can see; its rules it cannot. */
export async function activeFirewall(parts: FirewallParts = ownParts): Promise<Firewall | undefined> {
  const { platform, read, exists, run } = parts;
  switch (platform) {
    case 'linux': {
      if (/^ENABLED=["']?yes/im.test(await read('/etc/ufw/ufw.conf'))) return 'ufw';
      const found = await Promise.all(firewalldFiles.map(exists));
      return found.includes(true) ? 'firewalld' : undefined;
    }
    case 'win32':
      return /EnableFirewall\s+REG_DWORD\s+0x1\b/.test(
        await run('reg', ['query', windowsRules, '/v', 'EnableFirewall']),
      )
        ? 'Windows'
        : undefined;
    case 'darwin':
      return /State = [12]/.test(await run(macProgram, ['--getglobalstate'])) ? 'macOS' : undefined;
    default:
      return undefined;
  }
}

/** How other devices are let in: the port of the server, and multicast DNS for its names. */
export function openingOf(firewall: Firewall, port: number): string {
  switch (firewall) {
    case 'ufw':
      return `sudo ufw allow ${port}/tcp && sudo ufw allow 5353/udp`;
    case 'firewalld':
      return `sudo firewall-cmd --permanent --add-port=${port}/tcp --add-service=mdns && sudo firewall-cmd --reload`;
    case 'Windows':
      return 'Windows Security > Firewall & network protection > Allow an app through firewall: Node.js, in private networks';
    case 'macOS':
      return 'System Settings > Network > Firewall > Options: allow incoming connections for node';
  }
}

const ownParts: FirewallParts = {
  platform: process.platform,
  read: (path) => readFile(path, 'utf8').catch(() => ''),
  exists: (path) =>
    access(path).then(
      () => true,
      () => false,
    ),
  run: (program, words) =>
    new Promise((resolve) => {
      execFile(program, [...words], { timeout: 2000, windowsHide: true }, (error, output) =>
        resolve(error ? '' : output),
      );
    }),
};
