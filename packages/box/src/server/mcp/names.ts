/** Tools of the box itself are skillbox_<command>, which no skill can be called: those begin with skill_. */
export const toolNameOfCommand = (name: string): string => `skillbox_${name.replace(/[. ]/g, '_')}`;
