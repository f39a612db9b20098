import { describe, expect, test } from 'vitest';
import { clausesOf, kokoroPhonemes, phonemesOf } from './phonemes.ts';

describe('kokoroPhonemes', () => {
  test.each([
    ['h_ə_l_ˈoʊ w_ˈɜː_l_d\n', 'həlˈO wˈɜɹld'],
    ['w_ˈɛ_ð_ɚ', 'wˈɛðəɹ'],
    ['b_ˈɛ_ɾ_ɚ', 'bˈɛTəɹ'],
    ['b_ˈʌ_ʔ_n̩', 'bˈʌtᵊn'],
    ['tʃ_ˈɜː_tʃ dʒ_ˈɔɪ', 'ʧˈɜɹʧ ʤˈY'],
    ['l_ˈɪ_ɾ_əl', 'lˈɪTᵊl'],
    ['f_ˈaɪ_ɚ_ɹ ˈaʊ_ɚ', 'fˈIəɹ ˈWəɹ'],
    ['(fr)_b_ˈo_(en)_', 'bˈɔ'],
    ['h_ˈaʊ\nˈɑː_ɹ', 'hˈW ˈɑɹ'],
    ['aɪ ɹ_ˈiː_d', 'ˌI ɹˈid'],
  ])('American: %j', (ipa, phonemes) => {
    expect(kokoroPhonemes(ipa, 'en-us')).toBe(phonemes);
  });

  test.each([
    ['h_ə_l_ˈəʊ', 'həlˈQ'],
    ['ð_ˈeə', 'ðˈɛː'],
    ['b_ˈɜː_d', 'bˈɜːd'],
    ['h_ˈiə', 'hˈɪə'],
  ])('British: %j', (ipa, phonemes) => {
    expect(kokoroPhonemes(ipa, 'en-gb')).toBe(phonemes);
  });

  test('other languages: only sounds of two symbols are joined', () => {
    expect(kokoroPhonemes('m_u_tʃ_ˈa_tʃ_o', 'es')).toBe('muʧˈaʧo');
    expect(kokoroPhonemes('ʒ_ə- v_u', 'fr')).toBe('ʒə vu');
    expect(kokoroPhonemes('ɡ_r_ˈa_ts_j_e', 'it')).toBe('ɡrˈaʦje');
  });
});

describe('clausesOf', () => {
  const parts = (text: string) => clausesOf(text).map(({ text: clause, mark }) => `${clause}|${mark}`);

  test.each([
    ['Hello, world. Fine!', ['Hello|, ', 'world|. ', 'Fine|!']],
    ['"Yes," she said (loudly).', ['|"', 'Yes|," ', 'she said| (', 'loudly|).']],
    ['well - or — so…', ['well| — ', 'or| — ', 'so|…']],
    ['3,5 and 12:30 at F.B.I', ['3,5 and 12:30 at F.B.I|']],
    ['¿Qué? «Sí»', ['Qué|? "', 'Sí|"']],
    ['Wait...', ['Wait|…']],
    ['...', ['|…']],
    ['', []],
  ])('%j', (text, clauses) => {
    expect(parts(text)).toEqual(clauses);
  });
});

describe('phonemesOf', () => {
  const asked: string[] = [];
  const echo = (clause: string) => {
    asked.push(clause);
    return clause.toLowerCase();
  };

  test('keeps punctuation, which eSpeak drops', () => {
    expect(phonemesOf('Big, bad "cat"!', 'es', echo)).toBe('big, bad "cat"!');
  });

  test('asks for spelled letters as an abbreviation', () => {
    asked.length = 0;
    phonemesOf('the A P I at eight A M, a B', 'en-us', echo);
    expect(asked).toEqual(['the A.P.I at eight A.M', 'a B']);
  });
});
