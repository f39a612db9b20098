import type { Settings } from '../config/flags.ts';

export interface Addresses {
  readonly scheme: 'http' | 'https';
  readonly port: number;
  /** `--host`; empty for loopback. */
  readonly host: string;
}

export function baseUrl({ scheme, port, host }: Addresses): string {
  const anywhere = host === '' || host === '0.0.0.0' || host === '::';
  const name = anywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${scheme}://${name}:${port}`;
}

export function welcome(version: string): readonly string[] {
  return ['***', `Welcome to Parley - Version ${version}`];
}

/** Printed when everything is loaded. Launchers of KoboldCpp wait for these lines. */
export function readyLines(
  addresses: Addresses,
  settings: Settings,
  engines: Readonly<Record<string, boolean>>,
): readonly string[] {
  const url = baseUrl(addresses);
  const modules = {
    ...engines,
    NetworkMultiplayer: settings.multiplayer,
    WebSearchProxy: settings.websearch,
    ApiKeyPassword: Boolean(settings.password),
    AdminControl: settings.admin,
    MCPBridge: settings.mcpfile !== '',
    RouterMode: settings.routermode,
  };
  const names = (active: boolean) =>
    Object.entries(modules)
      .filter(([, on]) => on === active)
      .map(([name]) => name)
      .join(' ');
  return [
    '======',
    `Active Modules: ${names(true) || 'none'}`,
    `Inactive Modules: ${names(false) || 'none'}`,
    'Enabled APIs: KoboldCppApi OpenAiApi OllamaApi AnthropicApi LlamaCppApi OpenAiAudioApi XttsApi A1111ForgeApi ComfyUiApi',
    ...openWarning(addresses, settings),
    `Starting Kobold API on port ${addresses.port} at ${url}/api/`,
    `Starting OpenAI Compatible API on port ${addresses.port} at ${url}/v1/`,
    `Web client at ${url}/ and API page at ${url}/api`,
    '======',
    `Please connect to custom endpoint at ${url}`,
  ];
}

function openWarning({ host }: Addresses, { password }: Settings): readonly string[] {
  const local = host === '' || host === 'localhost' || host === '::1' || host.startsWith('127.');
  if (local) return [];
  return [
    `Open to the network on ${host}${password ? ', behind the password' : ': anybody who reaches this address can use it (set --password to prevent that)'}.`,
  ];
}
