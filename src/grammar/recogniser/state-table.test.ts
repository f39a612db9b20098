import { describe, expect, test } from 'vitest';
import { compileGbnf } from './compile.ts';
import type { Call, Place } from './state.ts';
import { StateTable } from './state-table.ts';

const program = compileGbnf('root ::= "abc" <[7]> x\nx ::= "y"', () => undefined);
const root: Call = { id: 0, rule: 0, returns: [] };
const place = (step: number, call = root): Place => ({ step, call });
const setStep = program.operations.indexOf(0);
const tokenStep = program.operations.indexOf(1);

describe('a table of states', () => {
  test('makes equal states and calls only once, in whatever order their places come', () => {
    const table = new StateTable(program);
    const [one, other] = [place(setStep), place(setStep + 1)];
    expect(table.state([one, other], false)).toBe(table.state([place(setStep + 1), place(setStep)], false));
    expect(table.call(1, [one, other])).toBe(table.call(1, [other, one]));
  });

  test('tells apart what differs in an end, a place, a rule or a caller', () => {
    const table = new StateTable(program);
    const state = table.state([place(setStep)], false);
    expect(table.state([place(setStep)], true)).not.toBe(state);
    expect(table.state([place(setStep + 1)], false)).not.toBe(state);
    const call = table.call(1, [place(setStep)]);
    expect(table.call(0, [place(setStep)])).not.toBe(call);
    expect(table.call(1, [place(setStep, call)])).not.toBe(call);
    expect(table.state([place(setStep, call)], false)).not.toBe(state);
  });

  test('knows which states wait for tokens', () => {
    const table = new StateTable(program);
    expect(table.state([place(setStep)], false).hasTokens).toBe(false);
    expect(table.state([place(setStep), place(tokenStep)], false).hasTokens).toBe(true);
  });

  test('does not compare what is very large, and forgets when it is full', () => {
    const table = new StateTable(program);
    const many = Array.from({ length: 200 }, (_, index) => place(setStep, { id: index + 1, rule: 0, returns: [] }));
    expect(table.state(many, false)).not.toBe(table.state(many, false));
    expect(table.call(0, many)).not.toBe(table.call(0, many));
    const first = table.call(1, [place(setStep)]);
    for (let id = 1; id <= 20_000; id += 1) table.call(1, [place(setStep, { id: -id, rule: 0, returns: [] })]);
    expect(table.call(1, [place(setStep)])).not.toBe(first);
  });

  test('gives each call a number of its own', () => {
    const table = new StateTable(program);
    const ids = [table.newId(), table.call(0, []).id, table.call(1, []).id, table.newId()];
    expect(new Set([0, ...ids]).size).toBe(5);
  });
});
