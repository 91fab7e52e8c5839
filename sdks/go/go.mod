module github.com/devs-group/skillbox/sdks/go

go 1.19
