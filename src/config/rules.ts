import { idleMs } from './duration.ts';
import { badFlags, missing, type Problem } from './flag.ts';
import { imageFlags } from './flags/media.ts';
import { type FlagKey, fileGroups, flagName, flagOf, inUse, type Settings } from './flags.ts';
import { defaultKeyFile } from './lan.ts';
import { remoteAddresses } from './remote.ts';

interface Consequence {
  readonly because: FlagKey;
  /** `explicit`: flags that were set, even if to their default. */
  readonly when: (settings: Settings, explicit: ReadonlySet<FlagKey>) => boolean;
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

/** Flags that change others. Applied once, in this order, so later rules see the results of earlier ones. */
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
  { because: 'lan', when: ({ lan, keyfile }) => lan && keyfile === '', changes: () => ({ keyfile: defaultKeyFile() }) },
  {
    because: 'parallelrequests',
    when: ({ parallelrequests }) => parallelrequests > 1,
    changes: () => ({ noshift: true }),
  },
  {
    // The default queue must not be smaller than the batch.
    because: 'parallelrequests',
    when: ({ parallelrequests, multiuser }, explicit) =>
      multiuser === 10 && !explicit.has('multiuser') && parallelrequests > multiuser,
    changes: ({ parallelrequests }) => ({ multiuser: parallelrequests }),
  },
  {
    // Remote backends run many requests at once; as many again may be queued.
    because: 'remote',
    when: ({ remote, multiuser }, explicit) =>
      multiuser === 10 && !explicit.has('multiuser') && remoteCapacity(remote) > 0,
    changes: ({ remote }) => ({ multiuser: 2 * remoteCapacity(remote) }),
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

function remoteCapacity(remote: Settings['remote']): number {
  return remoteAddresses(remote, 'text').reduce((sum, { parallel }) => sum + parallel, 0);
}

const conflicts: readonly { readonly flags: readonly FlagKey[]; readonly sentence: string }[] = [
  { flags: ['cli', 'launch'], sentence: '--launch cannot be used with --cli, which starts no server.' },
  { flags: ['cli', 'nomodel'], sentence: '--nomodel cannot be used with --cli, which needs a model.' },
  { flags: ['cli', 'admin'], sentence: '--admin cannot be used with --cli, which starts no server.' },
  { flags: ['cli', 'lan'], sentence: '--lan cannot be used with --cli, which starts no server.' },
  { flags: ['cli', 'remote'], sentence: '--remote cannot be used with --cli, which uses a model on this machine.' },
  {
    flags: ['benchmark', 'remote'],
    sentence: '--remote cannot be used with --benchmark, which measures this machine.',
  },
  { flags: ['cli', 'benchmark'], sentence: '--cli and --benchmark exclude each other.' },
];

/** Makes the settings consistent. Idempotent. */
export function applyRules(initial: Settings, explicit: ReadonlySet<FlagKey> = new Set()) {
  const notes: string[] = [];
  let settings = initial;
  for (const { because, when, changes: changesOf } of consequences) {
    if (!when(settings, explicit)) continue;
    const changes = changesOf(settings);
    for (const key of Object.keys(changes) as FlagKey[]) {
      if (JSON.stringify(changes[key]) === JSON.stringify(settings[key])) continue;
      notes.push(`${flagName(because)} sets ${flagName(key)} to ${JSON.stringify(changes[key])}.`);
    }
    settings = { ...settings, ...changes };
  }
  return { settings, notes, problems: conflictsIn(settings) };
}

function conflictsIn(settings: Settings): Problem[] {
  const used = (key: FlagKey) => inUse(key, settings[key]);
  const problems = conflicts.filter((conflict) => conflict.flags.every(used)).map(({ sentence }) => badFlags(sentence));
  if (!isSearchUrl(settings.websearchurl))
    problems.push(badFlags('--websearchurl must be an http:// or https:// URL without a user name or password.'));
  if (!(settings.mcpallow ?? []).every(isPlainUrl))
    problems.push(badFlags('--mcpallow must be http:// or https:// URLs without a user name, password or query.'));
  if (settings.idle !== '' && idleMs(settings.idle) === undefined)
    problems.push(badFlags(`--idle must be a time such as 90s, 10m or 2h, or never, not ${settings.idle}.`));
  problems.push(...fileGroups.flatMap((group) => missingFiles(group, settings)));
  const rpc = (['rpctargets', 'rpcmode'] as const).find(used);
  return rpc === undefined ? problems : [...problems, badFlags(`${flagName(rpc)} is not supported: ${noRpc}.`)];
}

function missingFiles({ rule, files }: (typeof fileGroups)[number], settings: Settings): Problem[] {
  const absent = files.filter((key) => !inUse(key, settings[key])).map(flagName);
  if (absent.length === 0 || absent.length === files.length) return [];
  return [missing(`${rule}; missing: ${absent.join(', ')}.`)];
}

function isPlainUrl(text: string): boolean {
  return text !== '' && isSearchUrl(text) && !/[?#]/.test(text);
}

function isSearchUrl(text: string): boolean {
  if (text === '') return true;
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}

const noRpc =
  'the bundled llama.cpp libraries are built without RPC. Run a server on the other machine (llama-server, vLLM, another Parley) and use it with --remote';

/** With these, KoboldCpp does not batch requests, and neither does Parley without `--batchall`. */
const batchBlockers: readonly FlagKey[] = ['smartcontext', 'smartcache', 'draftmodel', 'usemtp', 'enableguidance'];

/** Image flags that have an effect without `--sdmodel` too. */
const generalImageFlags: readonly FlagKey[] = ['sdmodel', 'sdremote', 'sdclamped', 'sdclampedsoft', 'sdthreads'];
const imageModelFlags = (Object.keys(imageFlags) as FlagKey[]).filter(
  (key) => !generalImageFlags.includes(key) && !flagOf(key).unsupported,
);

/** Notes about flags that have no effect in combination with others, or without them. */
export function settingsNotes(settings: Settings): string[] {
  return [...batchNotes(settings), ...imageNotes(settings)];
}

function batchNotes(settings: Settings): string[] {
  const { parallelrequests, batchall, multiuser } = settings;
  if (parallelrequests <= 1) return batchall ? ['--batchall has no effect without --parallelrequests.'] : [];
  const notes: string[] = [];
  // 0 and 1 mean 10 here, as in `maxQueuedRequests`.
  const accepted = multiuser < 2 ? 10 : multiuser;
  if (accepted < parallelrequests)
    notes.push(`--multiuser ${multiuser} limits --parallelrequests: no more than ${accepted} requests run together.`);
  const blocks = (key: FlagKey): boolean => inUse(key, settings[key]) && settings[key] !== 0;
  const blocking = batchall ? [] : batchBlockers.filter(blocks).map(flagName);
  if (blocking.length > 0)
    notes.push(
      `--parallelrequests has no effect with ${blocking.join(' and ')}: requests run one at a time. --batchall runs them together.`,
    );
  return notes;
}

function imageNotes(settings: Settings): string[] {
  if (settings.sdmodel !== '') return [];
  const idle = imageModelFlags.filter((key) => inUse(key, settings[key])).map(flagName);
  if (idle.length === 0) return [];
  return [`${idle.join(' and ')} ${idle.length === 1 ? 'has' : 'have'} no effect without --sdmodel.`];
}
