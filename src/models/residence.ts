import { modelAliases } from '../config/aliases.ts';
import { idleMs } from '../config/duration.ts';
import type { Settings } from '../config/flags.ts';
import { asAppError } from '../core/errors.ts';
import { aliasTarget, equalName } from '../core/model-names.ts';
import type { ModelSpec, Use } from './lifecycle.ts';
import { reasonOf } from './load-errors.ts';
import type { Listed } from './registry-entry.ts';

/** How long the model of a config stays loaded, and beside which others. */
export function residenceOf({
  idle,
  pin,
  group,
}: Pick<Settings, 'idle' | 'pin' | 'group'>): Pick<ModelSpec, 'idleMs' | 'pinned' | 'group'> {
  const milliseconds = idleMs(idle);
  return {
    ...(milliseconds === undefined ? {} : { idleMs: milliseconds }),
    ...(pin ? { pinned: true } : {}),
    ...(group === '' ? {} : { group }),
  };
}

/** Whether the text model is loaded before the first request. */
export function startsLoaded({ autoswapmode, preload }: Pick<Settings, 'autoswapmode' | 'preload'>): boolean {
  return !autoswapmode || preload > 0;
}

/** The configs to load at startup: by number, then in the given order. */
export function preloadOrder<Config extends { readonly preload: number }>(configs: readonly Config[]): Config[] {
  return configs.filter(({ preload }) => preload > 0).sort((a, b) => a.preload - b.preload);
}

/** Loads the models in order. All stay in use until the last one is loaded, so that none pushes out another. */
export async function preloadAll(
  names: readonly string[],
  hold: (name: string) => Promise<Pick<Use, 'release'>>,
  log: (line: string) => void,
): Promise<void> {
  const held: Pick<Use, 'release'>[] = [];
  for (const name of names) {
    try {
      held.push(await hold(name));
    } catch (error) {
      log(`${name} is not preloaded: ${reasonOf(asAppError(error)).replace(/\.$/, '')}.`);
    }
  }
  for (const { release } of held) release();
}

/** Why the present model may not be switched for the next one; undefined if it may. */
export function pinProblem(
  {
    name,
    settings: { pin, routermode },
  }: { readonly name: string; readonly settings: Pick<Settings, 'pin' | 'routermode'> },
  next: { readonly name: string },
): string | undefined {
  if (!pin || name === next.name) return undefined;
  const start = routermode ? '' : 'start with --routermode and ';
  return `${name} is pinned (--pin) and stays loaded. Remove "pin" from its config, or ${start}name the other model in requests`;
}

type Candidate = Pick<Listed, 'name' | 'kind' | 'state'> & Partial<Pick<Listed, 'lastUsed'>>;

/** The text model that answers soonest: the loaded one that was used last, or else one that is being loaded. */
export function warmModel(models: readonly Candidate[]): string | undefined {
  const rank = ({ state }: Candidate): number => ['loading', 'ready'].indexOf(state.type);
  const [first] = models
    .filter((model) => model.kind === 'text' && rank(model) !== -1)
    .sort((a, b) => rank(b) - rank(a) || (b.lastUsed ?? 0) - (a.lastUsed ?? 0));
  return first?.name;
}

/** Whether a request for this name means whichever text model is loaded. */
export function isWarmName({ warmname }: Pick<Settings, 'warmname'>, requested: string): boolean {
  return warmname !== '' && equalName(requested, warmname);
}

/** The target of a name that no model has: of `--modelalias`, or the loaded model for `--warmname`. */
export function modelAlias(
  settings: Pick<Settings, 'modelalias' | 'warmname'>,
  models: () => readonly Candidate[],
  /** The model of `--warmname` while none is loaded. */
  fallback: () => string | undefined = () => models().find(({ kind }) => kind === 'text')?.name,
): (requested: string) => string | undefined {
  const aliases = modelAliases(settings.modelalias);
  return (requested) =>
    aliasTarget(aliases, requested) ??
    (isWarmName(settings, requested) ? (warmModel(models()) ?? fallback()) : undefined);
}
