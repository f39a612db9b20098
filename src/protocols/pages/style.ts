/** The look of every page; colours follow the light or dark setting of the system. */
export const style = `:root {
  color-scheme: light dark;
  --paper: #faf9f6; --ink: #1f2421; --quiet: #5c655f; --line: #d9d8d0; --box: #ffffff; --accent: #2f7d6b; --on-accent: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #161a18; --ink: #e8ebe6; --quiet: #a0aaa3; --line: #343b37; --box: #1e2421; --accent: #6cc4ae; --on-accent: #10201b; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 54rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; align-items: baseline; justify-content: space-between; }
h1 { margin: 0; font-size: 1.9rem; letter-spacing: -0.02em; }
h2 { margin: 0 0 0.6rem; font-size: 1.15rem; }
section { margin-top: 1.25rem; padding: 1.1rem 1.25rem; background: var(--box); border: 1px solid var(--line); border-radius: 0.75rem; overflow-x: auto; }
a { color: var(--accent); }
.quiet { color: var(--quiet); font-size: 0.9rem; margin: 0.3rem 0; }
label { display: block; font-weight: 600; }
textarea, input[type=number], input[type=password] { width: 100%; margin-top: 0.25rem; padding: 0.55rem 0.7rem; font: inherit;
  color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 0.5rem; }
textarea { resize: vertical; }
.settings { display: flex; flex-wrap: wrap; gap: 0.75rem 1.25rem; align-items: end; margin: 0.5rem 0; }
.settings label { flex: 0 1 9rem; }
.settings .choice { flex: 1 1 16rem; font-weight: 400; padding-bottom: 0.55rem; }
.buttons { display: flex; gap: 0.6rem; margin: 0.75rem 0 0; }
button { padding: 0.55rem 1.1rem; font: inherit; font-weight: 600; border: 1px solid var(--line); border-radius: 0.5rem;
  background: var(--box); color: inherit; cursor: pointer; }
button[type=submit] { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button:disabled { opacity: 0.5; cursor: default; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
progress { width: 100%; accent-color: var(--accent); }
pre { margin: 0.5rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
pre:empty { display: none; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.35rem 0.75rem 0.35rem 0; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--quiet); font-size: 0.85rem; }
tbody th { font-weight: 400; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
@media (min-width: 48rem) { td code { white-space: nowrap; } }
dialog { max-width: 24rem; padding: 1.25rem; color: inherit; background: var(--box); border: 1px solid var(--line); border-radius: 0.75rem; }
dialog::backdrop { background: rgb(0 0 0 / 0.5); }
`;
