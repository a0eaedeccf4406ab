"""The scripts by which shells complete words: each calls the program with the words so far in variables.

What the variables are called, and how the offers are printed, is typer's (``typer/_completion_classes.py``).
"""

from __future__ import annotations

SCRIPTS = {
    "bash": r"""_kwhatif_completion() {
    local IFS=$'\n'
    COMPREPLY=($(_KWHATIF_COMPLETE=complete_bash COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" "$1"))
}
complete -o default -F _kwhatif_completion kwhatif
""",
    "zsh": r"""#compdef kwhatif
_kwhatif_completion() {
    eval "$(_KWHATIF_COMPLETE=complete_zsh _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" kwhatif)"
}
compdef _kwhatif_completion kwhatif
""",
    "fish": r"""function _kwhatif_completion --argument-names action
    env _KWHATIF_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=$action \
        _TYPER_COMPLETE_ARGS=(commandline -cp) kwhatif
end
complete --command kwhatif --no-files --condition "_kwhatif_completion is-args" \
    --arguments "(_kwhatif_completion get-args)"
""",
    "powershell": r"""Register-ArgumentCompleter -Native -CommandName kwhatif -ScriptBlock {
    param($word, $ast, $position)
    $env:_KWHATIF_COMPLETE = "complete_powershell"
    $env:_TYPER_COMPLETE_ARGS = $ast.ToString()
    $env:_TYPER_COMPLETE_WORD_TO_COMPLETE = $word
    kwhatif | ForEach-Object {
        $value, $help = $_ -split ":::", 2
        if (-not "$help".Trim()) { $help = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, "ParameterValue", $help)
    }
    Remove-Item Env:_KWHATIF_COMPLETE, Env:_TYPER_COMPLETE_ARGS, Env:_TYPER_COMPLETE_WORD_TO_COMPLETE
}
""",
}
"""By the name of the shell."""
