import type { FlagShape, FlagValue } from '../flag.ts';

export type DeprecatedFlag = FlagShape & {
  readonly names: readonly [string, ...string[]];
  /** What to use instead, as the end of a sentence. */
  readonly instead: string;
  /** The equivalent settings; without it the flag has no effect. */
  readonly translate?: (value: FlagValue) => Readonly<Record<string, FlagValue>>;
};

/**
 * Old flags, accepted on the command line and in config files. Switches whose meaning was inverted since are translated
 * for `false` as well: `flashattention: false` in an old config file turns flash attention off.
 */
export const deprecatedFlags: Readonly<Record<string, DeprecatedFlag>> = {
  flashattention: {
    names: ['--flashattention', '--flash-attn', '-fa'],
    type: 'switch',
    default: false,
    instead: 'it is on unless --noflashattention is given',
    translate: (value) => ({ noflashattention: value === false }),
  },
  useswa: {
    names: ['--useswa'],
    type: 'switch',
    default: false,
    instead: 'it is on unless --noswa is given',
    translate: (value) => ({ noswa: value === false }),
  },
  sdt5xxl: {
    names: ['--sdt5xxl'],
    type: 'text',
    default: '',
    instead: 'use --sdllm',
    translate: (value) => ({ sdllm: value }),
  },
  sdnotile: {
    names: ['--sdnotile'],
    type: 'switch',
    default: false,
    instead: 'use --sdtiledvae 0',
    translate: (value) => (value === true ? { sdtiledvae: 0 } : {}),
  },
  sdgendefaults: {
    names: ['--sdgendefaults'],
    type: 'json',
    default: null,
    instead: 'use --gendefaults',
    translate: (value) => ({ gendefaults: value }),
  },
  hordeconfig: {
    names: ['--hordeconfig'],
    type: 'list',
    of: 'text',
    least: 1,
    default: null,
    instead: 'use --hordemodelname, --hordegenlen, --hordemaxctx, --hordekey and --hordeworkername',
  },
  sdconfig: {
    names: ['--sdconfig'],
    type: 'list',
    of: 'text',
    least: 1,
    default: null,
    instead: 'use --sdmodel, --sdclamped, --sdthreads and --sdquant',
  },
  noblas: { names: ['--noblas'], type: 'switch', default: false, instead: 'use --usecpu' },
  nommap: { names: ['--nommap'], type: 'switch', default: false, instead: 'files are mapped only with --usemmap' },
  nopipelineparallel: {
    names: ['--nopipelineparallel'],
    type: 'switch',
    default: false,
    instead: 'remove it',
  },
  pipelineparallel: {
    names: ['--pipelineparallel'],
    type: 'switch',
    default: false,
    instead: 'remove it',
  },
  sdvaecpu: { names: ['--sdvaecpu'], type: 'switch', default: false, instead: 'use --sdvaedevice CPU' },
  sdclipgpu: { names: ['--sdclipgpu'], type: 'switch', default: false, instead: 'use --sdclipdevice' },
  forceversion: {
    names: ['--forceversion'],
    type: 'integer',
    default: 0,
    instead: 'the version is read from the model file',
  },
};
