import { endsSentence } from './dates.ts';
import { cardinal, ordinal, romanValue } from './numbers.ts';

/** Titles before a name. */
const titles: Readonly<Record<string, string>> = {
  Dr: 'Doctor',
  Mr: 'Mister',
  Mrs: 'Missus',
  Ms: 'Miz',
  Prof: 'Professor',
  St: 'Saint',
  Mt: 'Mount',
  Ft: 'Fort',
  Capt: 'Captain',
  Cmdr: 'Commander',
  Col: 'Colonel',
  Gen: 'General',
  Gov: 'Governor',
  Hon: 'Honorable',
  Lt: 'Lieutenant',
  Maj: 'Major',
  Rep: 'Representative',
  Rev: 'Reverend',
  Sen: 'Senator',
  Sgt: 'Sergeant',
  Messrs: 'Messrs',
};
const title = new RegExp(`\\b(${Object.keys(titles).join('|')})\\.(?=\\s+(?:and\\s|&\\s|\\p{Lu}))`, 'gu');
const bareTitle = /\b(Mr|Mrs|Dr|Prof)(?=\s+\p{Lu})/gu;

/** After a name. */
const behindNames: Readonly<Record<string, string>> = {
  St: 'Street',
  Ave: 'Avenue',
  Blvd: 'Boulevard',
  Rd: 'Road',
  Dr: 'Drive',
  Ln: 'Lane',
  Sq: 'Square',
  Jr: 'Junior',
  Sr: 'Senior',
  Inc: 'Incorporated',
  Ltd: 'Limited',
  Corp: 'Corporation',
  Co: 'Company',
  Bros: 'Brothers',
};
const behindName = new RegExp(`(?<=[\\p{L}\\p{N}],?\\s)(${Object.keys(behindNames).join('|')})\\.`, 'gu');

/** Wherever they are. */
const everywhere: Readonly<Record<string, string>> = {
  'e.g.': 'for example',
  'i.e.': 'that is',
  'etc.': 'et cetera',
  'vs.': 'versus',
  'approx.': 'approximately',
  'a.k.a.': 'also known as',
  'cf.': 'compare',
  'ca.': 'about',
  'incl.': 'including',
  'excl.': 'excluding',
  'dept.': 'department',
  'ed.': 'edition',
  'et al.': 'and others',
  'N.B.': 'note well',
  'P.S.': 'P S',
  'R.I.P.': 'R I P',
};
const anywhere = new RegExp(
  `(?<![\\w.])(${Object.keys(everywhere)
    .map((word) => word.replaceAll('.', '\\.'))
    .join('|')})(?!\\w)`,
  'gi',
);
const lowered = new Map(Object.entries(everywhere).map(([word, spoken]) => [word.toLowerCase(), spoken]));

/** Before a number. */
const counting: Readonly<Record<string, string>> = {
  no: 'number',
  nos: 'numbers',
  nr: 'number',
  p: 'page',
  pp: 'pages',
  fig: 'figure',
  figs: 'figures',
  vol: 'volume',
  ch: 'chapter',
  sec: 'section',
  art: 'article',
  eq: 'equation',
  ver: 'version',
  v: 'version',
};
const countingWord = new RegExp(`(?<![\\w.])(${Object.keys(counting).join('|')})\\.\\s?(?=\\d)`, 'gi');

/** Abbreviations as words. A full stop that ends the sentence, too, is kept. */
export function expandAbbreviations(text: string): string {
  const closed = (spoken: string, all: string, at: number, whole: string): string =>
    spoken + (all.endsWith('.') && endsSentence(whole, at + all.length) ? '.' : '');
  return text
    .replace(title, (_, name: string) => titles[name] as string)
    .replace(bareTitle, (name: string) => titles[name] as string)
    .replace(behindName, (all: string, name: string, at: number, whole: string) =>
      closed(behindNames[name] as string, all, at, whole),
    )
    .replace(countingWord, (_, word: string) => `${counting[word.toLowerCase()]} `)
    .replace(anywhere, (all: string, word: string, at: number, whole: string) =>
      closed(cased(word, lowered.get(word.toLowerCase()) ?? word), all, at, whole),
    )
    .replace(/(?<!\w)w\/o(?=\s)/g, 'without')
    .replace(/(?<!\w)w\/\s?(?=\w)/g, 'with ')
    .replace(/(?<!\w)(?:c\/o)(?=\s)/g, 'care of')
    .replace(/(?<!\w)(?:n\/a|N\/A)(?!\w)/g, 'not applicable');
}

function cased(word: string, spoken: string): string {
  return /^[A-Z][a-z]/.test(word) ? spoken.charAt(0).toUpperCase() + spoken.slice(1) : spoken;
}

/** Read as words although all of their letters are capitals. */
const wordAcronyms: ReadonlySet<string> = new Set(
  'NASA NATO UNESCO UNICEF OPEC FIFA UEFA IKEA LASER RADAR SONAR SCUBA AIDS COVID PIN RAM ROM SIM LAN WAN GIF JPEG ASCII JSON YAML REST CRUD SWAT NAFTA BAFTA FEMA OSHA NASDAQ INTERPOL BIOS CAPTCHA POSIX SARS ZIP OK MERS GUI NIMBY YOLO FAQ TED'.split(
    ' ',
  ),
);

/** Spelled although they could be read as words. */
const spelledAcronyms: ReadonlySet<string> = new Set(
  'USA UK EU UN UAE AI API APIs URL URI UI UX CPU GPU TPU IBM FBI CIA BBC ABC NBC IT HR PR TV DVD CD PC USB LED LCD ATM CEO CFO CTO COO DIY DNA RNA FAQ GDP GPS HIV ID IDs IQ ISBN ISO IRS LLM LLMs LP MBA MIT MP MPs MRI NBA NFL NHL NGO OS PDF PHP POV PS PSA QA RPG RSVP SDK SEO SMS SOS SQL SSD SSH SSL SUV TLS TTS STT UFO UFOs UCLA USC VAT VIP VPN VR AR WHO WWW XML HTML HTTP HTTPS CSS AM FM AD BC CE BCE DC LA NYC EST PST GMT UTC AC FPS IP IPA IOU OCR OEM AWS IDE EV EVs EULA ETA AKA ASAP'.split(
    ' ',
  ),
);

const capitals = /(?<![\p{L}\p{N}'\u2019&])([A-Z]{2,6})(s|['\u2019]s)?(?![\p{L}\p{N}&])/gu;
const dotted = /(?<![\w.])(?:[A-Z]\.){2,6}(?![\w])/g;
const mixed = /(?<![\p{L}\p{N}])([A-Z]{1,4})-?(\d{1,4})(?![\p{L}\p{N}.,:])/gu;

/** Acronyms letter by letter, except those that are read as words. Text in capitals is not treated as acronyms. */
export function verbalizeAcronyms(text: string): string {
  const shouted = isShouted(text);
  return text
    .replace(dotted, (all: string, at: number, whole: string) => {
      const letters = all.replaceAll('.', '').split('').join(' ');
      return letters + (endsSentence(whole, at + all.length) ? '.' : '');
    })
    .replace(capitals, (all: string, letters: string, ending = '') => {
      if (wordAcronyms.has(letters)) return all;
      const spells = spelledAcronyms.has(letters) || !/[AEIOUY]/.test(letters);
      if (!spells || (shouted && !(letters.length > 2 && !/[AEIOUY]/.test(letters)))) return all;
      return `${[...letters].join(' ')}${ending === '' ? '' : "'s"}`;
    })
    .replace(mixed, (all: string, letters: string, number: string) => {
      return wordAcronyms.has(letters) || number.startsWith('0') ? all : `${[...letters].join(' ')} ${number}`;
    });
}

const isAcronym = (word: string): boolean => spelledAcronyms.has(word) || wordAcronyms.has(word);

function isShouted(text: string): boolean {
  const words = text.match(/\p{L}{2,}/gu) ?? [];
  const loud = words.filter((word) => word === word.toUpperCase() && /[AEIOUY]/.test(word) && !isAcronym(word));
  return words.length >= 3 && loud.length > words.length / 2;
}

const rulers =
  'Henry|Elizabeth|Louis|George|Edward|Charles|James|William|Richard|Philip|Napoleon|Catherine|Frederick|Alexander|Peter|Nicholas|Ivan|Paul|Benedict|Pius|Leo|Francis|Gregory|Innocent|Otto|Ferdinand|Alfonso|Christian|Gustav|Haakon|Carl|Carlos|Ramses|Ramesses|Mary|Clement|Urban|Boniface|Julius|Sixtus|Ptolemy|Darius|Xerxes|Wilhelm|Albert|Leopold|Maximilian|Rudolf|Sigismund|Umberto|Pedro|Margrethe|Harald|Olaf|Malcolm|Robert|Stephen|Michael|Constantine|Theodosius|Justinian|Mehmed|Murad|Selim|Suleiman|Tutankhamun|Thutmose|Amenhotep';
const ruler = new RegExp(`\\b(${rulers}) (?!I\\b)([IVXLC]{1,6})(?![\\w])`, 'g');
const numbered =
  /\b(War|Chapter|Part|Act|Scene|Volume|Book|Section|Phase|Type|Class|Episode|Article|Level|Grade|Stage|Mark|Apollo|Bowl|Season|Round|Division|Canto|Appendix|Unit|Title|Schedule|Tier|Category|Factor) ([IVXLC]{1,7})(?![\w'\u2019])/g;

/** Roman numerals after names and after words that they number. */
export function verbalizeRomanNumerals(text: string): string {
  return text
    .replace(ruler, (all, name: string, numeral: string) => {
      const value = romanValue(numeral);
      return value === undefined ? all : `${name} the ${ordinal(String(value))}`;
    })
    .replace(numbered, (all, word: string, numeral: string) => {
      const value = romanValue(numeral);
      return value === undefined ? all : `${word} ${cardinal(String(value))}`;
    });
}
