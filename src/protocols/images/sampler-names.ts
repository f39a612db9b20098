import type { ImageFacts, ImageRequest } from '../../core/image.ts';

/** Names of the same sampler in different programs; the first is that of the engines, the last that of ComfyUI unless it begins with `k_`. */
const samplers: readonly (readonly [name: string, display: string, ...others: string[]])[] = [
  ['euler', 'Euler', 'k_euler'],
  ['euler_a', 'Euler a', 'k_euler_a', 'euler_ancestral'],
  ['heun', 'Heun', 'k_heun'],
  ['dpm2', 'DPM2', 'k_dpm_2', 'dpm_2'],
  ['dpm++2s_a', 'DPM++ 2S a', 'k_dpmpp_2s_a', 'dpmpp_2s_ancestral'],
  ['dpm++2m', 'DPM++ 2M', 'k_dpmpp_2m', 'dpmpp_2m'],
  ['dpm++2mv2', 'DPM++ 2M v2'],
  ['ipndm', 'iPNDM'],
  ['ipndm_v', 'iPNDM v'],
  ['lcm', 'LCM', 'k_lcm'],
  ['ddim_trailing', 'DDIM', 'ddim'],
  ['tcd', 'TCD'],
  ['res_multistep', 'Res Multistep', 'k_res_multistep'],
  ['res_2s', 'Res 2s', 'k_res_2s'],
  ['er_sde', 'ER SDE'],
  ['euler_cfg_pp', 'Euler CFG++'],
  ['euler_a_cfg_pp', 'Euler a CFG++', 'euler_ancestral_cfg_pp'],
  ['euler_ge', 'Euler GE', 'gradient_estimation'],
];

const schedulers: readonly (readonly [name: string, ...others: string[]])[] = [
  ['discrete', 'normal', 'uniform'],
  ['ays', 'align_your_steps'],
  ...onlyName('karras', 'exponential', 'sgm_uniform', 'simple', 'kl_optimal', 'gits', 'smoothstep', 'lcm'),
  ...onlyName('bong_tangent', 'polyexponential', 'beta', 'ddim_uniform', 'linear_quadratic'),
];

function onlyName(...names: readonly string[]) {
  return names.map((name) => [name] as const);
}

const samplerNames = byEachName(samplers);
const schedulerNames = byEachName(schedulers);
const displayNames = new Map(samplers.map(([name, display]) => [name, display]));

type EngineNames = Pick<ImageFacts, 'samplers' | 'schedulers'>;

/**
 * The engine's names for those of the client. `DPM++ 2M Karras` names both. Nothing, `default` and `automatic` mean the first
 * of the engine; a name that it does not have is passed on, and the engine reports what it used.
 */
export function chosenSampler(
  sampler: string,
  scheduler: string,
  engine: EngineNames,
): Pick<ImageRequest, 'sampler' | 'scheduler'> {
  const [name, tail] = isOpen(sampler) ? ['', ''] : splitScheduler(sampler, engine);
  const order = isOpen(scheduler) ? tail : scheduler;
  return {
    sampler: (name && (nameOf(name, engine.samplers, samplerNames) ?? name)) || (engine.samplers[0] ?? ''),
    scheduler: (order && (nameOf(order, engine.schedulers, schedulerNames) ?? order)) || (engine.schedulers[0] ?? ''),
  };
}

/** The name for lists and infotexts. */
export function samplerDisplay(name: string): string {
  return displayNames.get(samplerNames.get(plain(name)) ?? name) ?? name;
}

/** Its name in ComfyUI. */
export function comfySampler(name: string): string {
  const engineName = samplerNames.get(plain(name)) ?? name.toLowerCase();
  const [, , ...others] = samplers.find(([known]) => known === engineName) ?? ['', ''];
  return others.findLast((other) => !other.startsWith('k_')) ?? engineName;
}

export function samplerAliases(name: string): readonly string[] {
  const entry = samplers.find(([known]) => known === samplerNames.get(plain(name)));
  const display = samplerDisplay(name);
  return [...new Set([name, ...(entry ?? [])])].filter((other) => other !== display);
}

function splitScheduler(sampler: string, engine: EngineNames): readonly [string, string] {
  if (nameOf(sampler, engine.samplers, samplerNames) !== undefined) return [sampler, ''];
  for (const known of schedulerNames.keys()) {
    const end = plain(sampler);
    if (end.length <= known.length || !end.endsWith(known)) continue;
    const rest = end.slice(0, -known.length);
    if (samplerNames.has(rest)) return [rest, known];
  }
  return [sampler, ''];
}

function nameOf(requested: string, names: readonly string[], known: ReadonlyMap<string, string>): string | undefined {
  const canonical = (name: string): string => known.get(plain(name)) ?? plain(name);
  return names.find((name) => canonical(name) === canonical(requested));
}

function isOpen(name: string): boolean {
  return ['', 'default', 'automatic'].includes(plain(name));
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '');
}

function byEachName(groups: readonly (readonly [string, ...string[]])[]): ReadonlyMap<string, string> {
  return new Map(
    groups.flatMap(([first, ...others]) => [first, ...others].map((name) => [plain(name), first] as const)),
  );
}
