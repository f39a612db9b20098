import { type DeprecatedFlag, flagTable, integer, json, list, text, toggle } from '../flag.ts';

/** Old flags. Switches whose meaning was inverted count for `false` too: `flashattention: false` turns it off. */
export const deprecatedFlags: Readonly<Record<string, DeprecatedFlag>> = flagTable({
  flashattention: toggle({ also: ['--flash-attn', '-fa'] }).instead(
    'it is on unless --noflashattention is given',
    (value) => ({ noflashattention: value === false }),
  ),
  useswa: toggle().instead('it is on unless --noswa is given', (value) => ({ noswa: value === false })),
  sdt5xxl: text('FILE', '').instead('use --sdllm', (value) => ({ sdllm: value })),
  sdnotile: toggle().instead('use --sdtiledvae 0', (value) => (value === true ? { sdtiledvae: 0 } : {})),
  sdgendefaults: json().instead('use --gendefaults', (value) => ({ gendefaults: value })),
  hordeconfig: list('text', 'VALUE', {}).instead(
    'use --hordemodelname, --hordegenlen, --hordemaxctx, --hordekey and --hordeworkername',
  ),
  sdconfig: list('text', 'VALUE', {}).instead('use --sdmodel, --sdclamped, --sdthreads and --sdquant'),
  noblas: toggle().instead('use --usecpu'),
  nommap: toggle().instead('files are mapped only with --usemmap'),
  nopipelineparallel: toggle().instead('remove it'),
  pipelineparallel: toggle().instead('remove it'),
  sdvaecpu: toggle().instead('use --sdvaedevice CPU'),
  sdclipgpu: toggle().instead('use --sdclipdevice'),
  forceversion: integer('VALUE', 0).instead('the version is read from the model file'),
});
