import { type FlagKey, flagOf, inUse, type Settings } from './flags.ts';
import { badFlags, type Problem } from './problem.ts';
import { remoteAddresses } from './remote.ts';

interface Consequence {
  readonly because: FlagKey;
  readonly when: (settings: Settings) => boolean;
  readonly changes: (settings: Settings) => Partial<Settings>;
}

const turnsOn = (because: FlagKey, ...keys: readonly FlagKey[]): Consequence => ({
  because,
  when: (settings) => inUse(because, settings[because]),
  changes: () => Object.fromEntries(keys.map((key) => [key, true])) as Partial<Settings>,
});

const usesCuda =
  (option: 'lowvram' | 'nommq' | 'rowsplit') =>
  ({ usecuda }: Settings): boolean =>
    usecuda?.includes(option) ?? false;

/** What one flag means for others. They are gone through once, in this order, so a later one may build on an earlier. */
const consequences: readonly Consequence[] = [
  {
    because: 'agent',
    when: ({ agent }) => agent,
    changes: ({ defaultgenamt, contextsize }) => ({
      defaultgenamt: Math.max(defaultgenamt, 8192),
      contextsize: Math.max(contextsize, 28672),
      jinja_tools: true,
    }),
  },
  {
    because: 'jinjathink',
    when: ({ jinjathink }) => jinjathink !== 'default',
    changes: ({ jinjathink, jinja_kwargs }) => ({
      jinja_kwargs: { ...jinja_kwargs, enable_thinking: jinjathink === 'true' },
    }),
  },
  turnsOn('jinjathink', 'jinja'),
  turnsOn('jinja_kwargs', 'jinja'),
  turnsOn('jinja_tools', 'jinja'),
  turnsOn('autoswapmode', 'routermode'),
  turnsOn('websearchurl', 'websearch'),
  turnsOn('routermode', 'admin'),
  turnsOn('nofastforward', 'noshift'),
  {
    because: 'parallelrequests',
    when: ({ parallelrequests }) => parallelrequests > 1,
    changes: () => ({ noshift: true }),
  },
  {
    // A number of places that nobody chose must not keep the batch from being full.
    because: 'parallelrequests',
    when: ({ parallelrequests, multiuser }) => multiuser === 10 && parallelrequests > multiuser,
    changes: ({ parallelrequests }) => ({ multiuser: parallelrequests }),
  },
  {
    // Engines elsewhere take many at once, and as many again may wait for them.
    because: 'remote',
    when: ({ remote, multiuser }) => multiuser === 10 && atOnceElsewhere(remote) > 0,
    changes: ({ remote }) => ({ multiuser: 2 * atOnceElsewhere(remote) }),
  },
  { because: 'usecuda', when: usesCuda('lowvram'), changes: () => ({ lowvram: true }) },
  { because: 'usecuda', when: usesCuda('nommq'), changes: () => ({ nommq: true }) },
  { because: 'usecuda', when: usesCuda('rowsplit'), changes: () => ({ splitmode: 'tensor' }) },
  { because: 'splitmode', when: ({ splitmode }) => splitmode === 'row', changes: () => ({ splitmode: 'tensor' }) },
  ...(['hordemodelname', 'hordeworkername', 'hordekey'] as const).map(
    (because): Consequence => ({
      because,
      when: (settings) => settings[because] !== '' && settings.debugmode === 0,
      changes: () => ({ debugmode: -1 }),
    }),
  ),
  { because: 'debugmode', when: ({ debugmode }) => debugmode === 1, changes: () => ({ quiet: false }) },
  {
    because: 'contextsize',
    when: () => true,
    changes: ({ defaultgenamt, contextsize }) => ({
      defaultgenamt: Math.min(defaultgenamt, Math.floor(contextsize / 2)),
    }),
  },
];

function atOnceElsewhere(remote: Settings['remote']): number {
  return remoteAddresses(remote, 'text').reduce((sum, { parallel }) => sum + parallel, 0);
}

const clashes: readonly { readonly flags: readonly FlagKey[]; readonly sentence: string }[] = [
  { flags: ['cli', 'launch'], sentence: '--cli starts no server, so --launch has nothing to open.' },
  { flags: ['cli', 'nomodel'], sentence: '--cli needs a model, so --nomodel cannot stand beside it.' },
  { flags: ['cli', 'admin'], sentence: '--cli starts no server, so --admin cannot stand beside it.' },
  { flags: ['cli', 'remote'], sentence: '--cli talks to a model on this machine, so --remote cannot stand beside it.' },
  {
    flags: ['benchmark', 'remote'],
    sentence: '--benchmark measures this machine, so --remote cannot stand beside it.',
  },
  { flags: ['cli', 'benchmark'], sentence: '--cli and --benchmark exclude each other.' },
];

export interface Ruled {
  readonly settings: Settings;
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** Settings that agree with each other. Applying the rules again changes nothing. */
export function applyRules(given: Settings): Ruled {
  const notes: string[] = [];
  let settings = given;
  for (const { because, when, changes: changesOf } of consequences) {
    if (!when(settings)) continue;
    const changes = changesOf(settings);
    for (const key of Object.keys(changes) as FlagKey[]) {
      if (JSON.stringify(changes[key]) === JSON.stringify(settings[key])) continue;
      notes.push(`${nameOf(because)} sets ${nameOf(key)} to ${JSON.stringify(changes[key])}.`);
    }
    settings = { ...settings, ...changes };
  }
  return { settings, notes, problems: clashesOf(settings) };
}

function clashesOf(settings: Settings): Problem[] {
  const used = (key: FlagKey) => inUse(key, settings[key]);
  const found = clashes.filter((clash) => clash.flags.every(used)).map(({ sentence }) => badFlags(sentence));
  if (!isSearchUrl(settings.websearchurl))
    found.push(
      badFlags(
        '--websearchurl must be an address that begins with http:// or https://, without a name or password in it.',
      ),
    );
  const rpc = (['rpctargets', 'rpcmode'] as const).find(used);
  return rpc === undefined ? found : [...found, badFlags(`${nameOf(rpc)} is not possible: ${noRpc}.`)];
}

function isSearchUrl(text: string): boolean {
  if (text === '') return true;
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}

const noRpc =
  'the llama.cpp libraries that come with Parley are built without RPC. Run an engine over there (llama-server, vLLM, another Parley) and name it with --remote';

const nameOf = (key: FlagKey): string => flagOf(key).names[0];
