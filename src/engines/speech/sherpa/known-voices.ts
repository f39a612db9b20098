import type { Voice } from '../../../core/speech.ts';

/** The tables of Kokoro have no names in them: these are in their order, by how many there are. */
const kokoroTables: ReadonlyMap<number, readonly string[]> = new Map(
  [
    'af af_bella af_nicole af_sarah af_sky am_adam am_michael bf_emma bf_isabella bm_george bm_lewis',
    'af_alloy af_aoede af_bella af_heart af_jessica af_kore af_nicole af_nova af_river af_sarah af_sky am_adam am_echo am_eric am_fenrir am_liam am_michael am_onyx am_puck am_santa bf_alice bf_emma bf_isabella bf_lily bm_daniel bm_fable bm_george bm_lewis ef_dora em_alex ff_siwis hf_alpha hf_beta hm_omega hm_psi if_sara im_nicola jf_alpha jf_gongitsune jf_nezumi jf_tebukuro jm_kumo pf_dora pm_alex pm_santa zf_xiaobei zf_xiaoni zf_xiaoxiao zf_xiaoyi zm_yunjian zm_yunxi zm_yunxia zm_yunyang',
  ].map((names) => {
    const list = names.split(' ');
    return [list.length, list];
  }),
);

/** The first letter of such a name tells the language, the second who speaks. */
const kokoroLanguages: Readonly<Record<string, string>> = {
  a: 'en',
  b: 'en',
  e: 'es',
  f: 'fr',
  h: 'hi',
  i: 'it',
  j: 'ja',
  p: 'pt',
  z: 'zh',
};

/** One voice is a row of style vectors for up to 510 or 511 sounds. */
const rowBytes = [510 * 256 * 4, 511 * 256 * 4];

export function kokoroVoices(
  metadata: ReadonlyMap<string, string>,
  tableBytes: number,
  name: string,
): readonly Voice[] {
  const told = metadata.get('speaker_names')?.split(',').filter(Boolean);
  const row = rowBytes.find((bytes) => tableBytes % bytes === 0);
  const count = Number(metadata.get('n_speakers') ?? (row === undefined ? 1 : tableBytes / row)) || 1;
  const names = told?.length === count ? told : kokoroTables.get(count);
  if (names === undefined) return numberedVoices(metadata, name, count);
  return names.map((voice) => {
    const [, language = '', sound = ''] = /^([a-z])([fm])(?:_|$)/.exec(voice) ?? [];
    return {
      name: voice,
      language: kokoroLanguages[language] ?? 'en',
      description: `${name} ${voice}`,
      ...(sound === '' ? {} : { sound: sound === 'f' ? ('female' as const) : ('male' as const) }),
    };
  });
}

/** Those that have no names are called by their numbers. */
export function numberedVoices(
  metadata: ReadonlyMap<string, string>,
  name: string,
  count = Number(metadata.get('n_speakers') ?? 1) || 1,
): readonly Voice[] {
  const language = /chinese|zh/i.test(metadata.get('language') ?? '')
    ? 'zh'
    : (metadata.get('language') ?? 'en').slice(0, 2).toLowerCase();
  return Array.from({ length: count }, (_, id) => ({
    name: count === 1 ? name : `${name}-${id}`,
    language,
    description: `voice ${id + 1} of ${name}`,
  }));
}
