/** Style of the plain pages; colours follow the light or dark setting of the system. */
export const style = `:root {
  color-scheme: light dark;
  --paper: #faf8f4; --ink: #1f1d1a; --quiet: #5d5950; --line: #e3dfd5; --box: #ffffff; --accent: #1a7360; --on-accent: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #151513; --ink: #edebe5; --quiet: #aeaaa0; --line: #33322d; --box: #1c1c1a; --accent: #62c9ae; --on-accent: #06251d; }
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
textarea, input[type=number] { width: 100%; margin-top: 0.25rem; padding: 0.55rem 0.7rem; font: inherit;
  color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 0.5rem; }
textarea { resize: vertical; }
fieldset { margin: 0.75rem 0; padding: 0; border: 0; }
legend { padding: 0; font-weight: 600; }
fieldset .choice { padding: 0.2rem 0; font-weight: 400; }
input { accent-color: var(--accent); }
.settings { display: flex; flex-wrap: wrap; gap: 0.75rem 1.25rem; align-items: end; margin: 0.5rem 0; }
.settings label { flex: 0 1 9rem; }
.buttons { display: flex; gap: 0.6rem; margin: 0.75rem 0 0; }
button { padding: 0.55rem 1.1rem; font: inherit; font-weight: 600; border: 1px solid var(--line); border-radius: 0.5rem;
  background: var(--box); color: inherit; cursor: pointer; }
button[type=submit] { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
pre { margin: 0.5rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
pre:empty { display: none; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.35rem 0.75rem 0.35rem 0; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--quiet); font-size: 0.85rem; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
@media (min-width: 48rem) { td code { white-space: nowrap; } }
`;
