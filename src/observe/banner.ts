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

export function welcome(version: string): string {
  return `Welcome to Parley - Version ${version}`;
}

/** What the server can offer: the module by the name of KoboldCpp, and in plain words. */
export interface Offer {
  readonly module: string;
  readonly offer: string;
  readonly active: boolean;
}

/** Printed when everything is loaded. Launchers of KoboldCpp wait for `Starting Kobold API` and for the last line. */
export function readyLines(addresses: Addresses, settings: Settings, offers: readonly Offer[]): readonly string[] {
  const { port } = addresses;
  const url = baseUrl(addresses);
  const offered = offers.flatMap(({ offer, active }) => (active ? [offer] : []));
  return [
    ...(settings.debugmode === 1 ? moduleLines(settings, offers) : []),
    ...openWarning(addresses, settings),
    `Ready: ${offered.join(', ') || 'no model'}. Web page: ${url}`,
    `Starting Kobold API on port ${port} at ${url}/api/`,
    `Starting OpenAI Compatible API on port ${port} at ${url}/v1/`,
    `Please connect to custom endpoint at ${url}`,
  ];
}

/** As KoboldCpp prints them. */
function moduleLines(settings: Settings, offers: readonly Offer[]): readonly string[] {
  const modules = Object.entries({
    ...Object.fromEntries(offers.map(({ module, active }) => [module, active])),
    NetworkMultiplayer: settings.multiplayer,
    WebSearchProxy: settings.websearch,
    ApiKeyPassword: Boolean(settings.password || settings.keyfile),
    AdminControl: settings.admin,
    MCPBridge: settings.mcpfile !== '',
    RouterMode: settings.routermode,
  });
  const names = (active: boolean) => modules.flatMap(([name, on]) => (on === active ? [name] : [])).join(' ');
  return [
    `Active Modules: ${names(true) || 'none'}`,
    `Inactive Modules: ${names(false) || 'none'}`,
    'Enabled APIs: KoboldCppApi OpenAiApi OllamaApi AnthropicApi LlamaCppApi OpenAiAudioApi XttsApi A1111ForgeApi ComfyUiApi',
  ];
}

function openWarning({ host }: Addresses, { password, keyfile, lan }: Settings): readonly string[] {
  // Its addresses are printed below.
  if (lan) return [];
  const local = host === '' || host === 'localhost' || host === '::1' || host.startsWith('127.');
  if (local) return [];
  const behind = keyfile ? ', behind the keys of --keyfile' : password ? ', behind the password' : undefined;
  return [
    `Open to the network on ${host}${behind ?? ': anybody who reaches this address can use it (set --password to prevent that)'}.`,
  ];
}

interface Hints {
  /** How the program is started, such as `parley` or `npm start --`. */
  readonly command: string;
  /** Whether the text model is the built-in one, which is small. */
  readonly builtIn: boolean;
  /** Whether a person reads the output: others cannot press keys. */
  readonly interactive: boolean;
}

/** What to do next. */
export function hintLines({ command, builtIn, interactive }: Hints): readonly string[] {
  const larger = `For a larger model: ${command} run OWNER/NAME`;
  return [
    ...(builtIn ? [larger] : []),
    ...(interactive ? [`For all settings on a page: ${command} --showgui. To stop: Ctrl+C`] : []),
  ];
}
