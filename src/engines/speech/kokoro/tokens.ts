/** Symbols of Kokoro-82M and their numbers, as its configuration publishes them; runs of symbols have consecutive numbers. */
const table = `
1 ;:,.!?
9 —…"()“”
17 \u0303ʣʥʦʨᵝꭧAI
31 O
33 Q
35 ST
39 W
41 Yᵊabcdef
50 hijklmnopqrstuvwxyzɑɐɒæ
75 βɔɕç
80 ɖðʤə
85 ɚɛɜ
90 ɟ
92 ɡ
99 ɥ
101 ɨɪʝ
110 ɯɰŋɳɲɴø
118 ɸθœ
123 ɹ
125 ɾɻ
128 ʁɽʂʃʈʧ
135 ʊʋ
138 ʌɣɤ
142 χʎ
147 ʒʔ
156 ˈˌː
162 ʰ
164 ʲ
169 ↓
171 →↗↘
177 ᵻ
`;

const tokens: ReadonlyMap<string, number> = new Map([
  [' ', 16],
  ...table
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [first, symbols = ''] = line.split(' ');
      return [...symbols].map((symbol, index): [string, number] => [symbol, Number(first) + index]);
    }),
]);

/** The model was trained with at most this many, without the padding at both ends. */
const mostTokens = 510;

/** Phonemes as tokens. Symbols that the model does not know are left out. */
export function tokensOf(phonemes: string): readonly number[] {
  return [...phonemes].flatMap((symbol) => tokens.get(symbol) ?? []);
}

/** Splits phonemes into parts of at most `most` symbols: behind a punctuation mark, else behind a word. */
export function splitPhonemes(phonemes: string, most = mostTokens): readonly string[] {
  const parts: string[] = [];
  let rest = [...phonemes];
  while (rest.length > most) {
    const window = rest.slice(0, most);
    const mark = window.findLastIndex((symbol, index) => /[;:,.!?—…]/.test(symbol) && index >= most / 3);
    const space = window.lastIndexOf(' ');
    const length = mark >= 0 ? mark + 1 : space > 0 ? space : most;
    parts.push(rest.slice(0, length).join(''));
    rest = rest.slice(length);
  }
  return [...parts, rest.join('')].map((part) => part.trim()).filter((part) => part !== '');
}
